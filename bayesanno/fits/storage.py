"""A fit is one self-contained DataTree: it includes its model and its data, and is stored in one NetCDF file."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import singledispatch
from importlib.metadata import version
from itertools import compress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bayesanno._core.files import write_whole
from bayesanno._core.lazy import pm, xr
from bayesanno._core.messages import DataFileError, FitError, option
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.columns import Column
from bayesanno.data.counts import CountData
from bayesanno.data.described import freeze
from bayesanno.data.dimensions import MultiAnnotationData, name_own
from bayesanno.data.totals import AnnotationTotals
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.data_adapters import DATA_ADAPTERS, Data
from bayesanno.modeling.registry import get_model

MAX_GROUP_BYTES = 2 * 2**30  # larger groups, with one number per draw and item, are made only on request
LARGE_FIT = 32 * 2**20  # bytes
IS_NO_CLASS = "unsure"  # whether a response is not a class; stored only if there is one
IN_ORDER = "order_declared"  # whether an order of the labels was declared; stored only if it was
SIDE, SWAPPED = "side", "annotation_swapped"  # 1 and 2 for the labels of the sides; stored only for comparisons
COLUMNS = {"item": "item_columns", "annotator": "annotator_columns"}  # groups, and fields of the data; only if any
KNOWN = {"gold": "gold", "control": "controls"}  # known labels of items: the variable, and the field of the data


@singledispatch
def data_groups(data: Any) -> dict[str, xr.Dataset]:
    """Return data as the groups `observed_data` and `constant_data` of a fit; `data_of` restores them.

    Each kind of data is written by a function registered here, and read by its entry in `READERS`.
    """
    raise TypeError(f"no kind of data: {type(data).__name__}")


@data_groups.register(AnnotationData)
def _(data: AnnotationData) -> dict[str, xr.Dataset]:
    variables: dict[str, Any] = {name: ("item", _known_of(data, field)) for name, field in KNOWN.items()}
    if data.unsure:
        variables[IS_NO_CLASS] = ("response", [name in data.unsure for name in data.labels])
    if data.order_declared:
        variables[IN_ORDER] = ((), True)
    if data.sides:
        place = {name: 1 + at for at, name in enumerate(data.sides)}
        variables[SIDE] = ("response", [place.get(name, 0) for name in data.labels])
        variables[SWAPPED] = ("annotation", data.swapped)
    groups = _annotation_groups([data], variables, {"response": list(data.labels)})
    return groups | {group: _columns_group(data, of) for of, group in COLUMNS.items() if getattr(data, group)}


def _columns_group(data: AnnotationData, of: str) -> xr.Dataset:
    """Return a variable for each column of items or annotators, named by number, since names may be arbitrary."""
    group = xr.Dataset(coords={of: list(getattr(data, f"{of}s"))})
    for at, (name, one) in enumerate(getattr(data, COLUMNS[of]).items()):
        about = {"name": name, "levels": json.dumps(one.levels), "mean": one.mean, "sd": one.sd}
        group[f"column_{at}"] = (of, one.values, about)
    return group


def _read_columns(group: xr.Dataset) -> dict[str, Column]:
    columns = {}
    for one in group.data_vars.values():
        levels, mean, sd = tuple(json.loads(one.attrs["levels"])), float(one.attrs["mean"]), float(one.attrs["sd"])
        columns[one.attrs["name"]] = Column(freeze(one.values.copy()), levels, mean, sd)
    return columns


@data_groups.register(MultiAnnotationData)
def _(data: MultiAnnotationData) -> dict[str, xr.Dataset]:
    names, parts = data.dimensions, list(data.by_dimension.values())
    of = np.repeat(np.arange(len(parts)), [part.n_annotations for part in parts])
    known = {name: (("dimension", "item"), [_known_of(part, field) for part in parts]) for name, field in KNOWN.items()}
    responses = {name_own("response", name): list(part.labels) for name, part in data.by_dimension.items()}
    variables: dict[str, Any] = {"annotation_dimension": ("annotation", of), **known}
    if any(part.order_declared for part in parts):
        variables[IN_ORDER] = ("dimension", [part.order_declared for part in parts])
    return _annotation_groups(parts, variables, {"dimension": list(names), **responses})


@data_groups.register(AnnotationTotals)
def _(data: AnnotationTotals) -> dict[str, xr.Dataset]:
    variables = {
        "n_annotations": ("annotator", data.by_annotator),
        "label_shares": ("response", data.label_shares),
        "label_alphas": ("response", data.label_alphas),
        "n_items": ((), data.n_items),
        "n_gold": ((), data.n_gold),
        **({IN_ORDER: ((), True)} if data.order_declared else {}),
    }
    coords = {"annotator": list(data.annotators), "response": list(data.labels)}
    return {"constant_data": xr.Dataset(variables, coords=coords)}


@data_groups.register(CountData)
def _(data: CountData) -> dict[str, xr.Dataset]:
    groups = {"observed_data": "successes", "constant_data": "trials"}
    coords = {"item": list(data.items)}
    return {group: xr.Dataset({of: ("item", getattr(data, of))}, coords=coords) for group, of in groups.items()}


def _known_of(data: AnnotationData, field: str) -> list[str]:
    """Return the gold label, or the control, of each item; "" without one."""
    return [getattr(data, field).get(item, "") for item in data.items]


def _annotation_groups(
    parts: list[AnnotationData], variables: Mapping[str, Any], coords: Mapping[str, list[str]]
) -> dict[str, xr.Dataset]:
    """Return the annotations of one or several dimensions, concatenated, with the other data of items."""
    long = {name: np.concatenate([getattr(one, name) for one in parts]) for name in ("item", "annotator", "label")}
    constant = {f"annotation_{name}": ("annotation", long[name]) for name in ("item", "annotator")}
    names = {"item": list(parts[0].items), "annotator": list(parts[0].annotators)}
    return {
        "observed_data": xr.Dataset({"annotations": ("annotation", long["label"])}),
        "constant_data": xr.Dataset({**constant, **variables}, coords={**names, **coords}),
    }


def _read_annotations(observed: xr.Dataset, constant: xr.Dataset) -> AnnotationData:
    labels = _names(constant, "response")
    is_none = constant[IS_NO_CLASS].values if IS_NO_CLASS in constant else np.zeros(len(labels), dtype=bool)
    table = _read_table(observed, constant, labels, unsure=tuple(compress(labels, is_none)))
    if SIDE not in constant:
        return table
    side = list(constant[SIDE].values)
    return replace(table, sides=(labels[side.index(1)], labels[side.index(2)]), swapped=constant[SWAPPED].values)


def _read_dimensions(observed: xr.Dataset, constant: xr.Dataset) -> MultiAnnotationData:
    dimension = constant["annotation_dimension"].values  # (annotation,)
    parts = {}
    for code, name in enumerate(_names(constant, "dimension")):
        own = {"annotation": np.flatnonzero(dimension == code)}
        labels = _names(constant, name_own("response", name))
        parts[name] = _read_table(observed.isel(own), constant.isel(own | {"dimension": code}), labels)
    return MultiAnnotationData(by_dimension=parts)


def _read_table(
    observed: xr.Dataset, constant: xr.Dataset, labels: tuple[str, ...], unsure: tuple[str, ...] = ()
) -> AnnotationData:
    """Return one table of annotations from groups that contain only this table."""
    items = _names(constant, "item")
    known: dict[str, Any] = {}
    for name, field in KNOWN.items():
        pairs = zip(items, map(str, constant[name].values), strict=True)
        known[field] = {item: label for item, label in pairs if label}
    return AnnotationData(
        item=constant["annotation_item"].values,
        annotator=constant["annotation_annotator"].values,
        label=observed["annotations"].values,
        items=items,
        annotators=_names(constant, "annotator"),
        labels=labels,
        unsure=unsure,
        order_declared=_is_in_order(constant),
        **known,
    )


def _is_in_order(constant: xr.Dataset) -> bool:
    return IN_ORDER in constant and bool(constant[IN_ORDER])


def _read_counts(observed: xr.Dataset, constant: xr.Dataset) -> CountData:
    items = _names(constant, "item")
    return CountData(items=items, successes=observed["successes"].values, trials=constant["trials"].values)


READERS: dict[type, Callable[[xr.Dataset, xr.Dataset], Any]] = {
    AnnotationData: _read_annotations,
    MultiAnnotationData: _read_dimensions,
    CountData: _read_counts,
}


def groups_by_dimension(group: str, parts: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Return the groups of a tree with one dataset for each dimension, or with the only dataset, under ""."""
    return {f"{group}/{name}" if name else group: part for name, part in parts.items()}


def read_by_dimension(fit: xr.DataTree, group: str) -> dict[str, xr.Dataset]:
    """Return the content of a group of a fit by dimension, or under "" without dimensions."""
    node = fit.children[group]
    return {name: part.to_dataset() for name, part in node.children.items()} or {"": node.to_dataset()}


def data_of(fit: xr.DataTree) -> Any:
    """Return the data of a fit: AnnotationData, CountData or MultiAnnotationData, depending on its model.

    Raises
    ------
    FitError
        If the tree is not a fit by bayesanno, its data are incomplete, or they were on the workers of a cluster.
    """
    require_fit(fit)
    if is_on_dask(fit):
        refuse_items()
    read = READERS[model_of(fit).data_class]
    try:
        data = read(fit["observed_data"].to_dataset(), fit["constant_data"].to_dataset())
    except KeyError as error:
        raise FitError(f"the data of this fit are incomplete: {str(error.args[0]).split('.')[0]}") from None
    columns = {name: _read_columns(fit[name].to_dataset()) for name in COLUMNS.values() if name in fit.children}
    return replace(data, **columns) if columns else data


def is_on_dask(fit: xr.DataTree) -> bool:
    """Whether a fit used annotations on the workers of a cluster, and so holds no items."""
    return "e_step" in fit.children


def refuse_items() -> NoReturn:
    """Raise a FitError that explains that a fit holds no items, and how to get them."""
    raise FitError(
        "this fit was made on Dask, so it holds no items and no annotations: write labels as Parquet with "
        "write_labels(fit, data, folder), or use annotator_table, summary or confusion_table, which need no items"
    )


def totals_of(fit: xr.DataTree) -> AnnotationTotals:
    """Return the totals of the data, for a fit that holds no data."""
    constant = fit["constant_data"].to_dataset()
    return AnnotationTotals(
        annotators=_names(constant, "annotator"),
        labels=_names(constant, "response"),
        n_items=int(constant["n_items"]),
        by_annotator=constant["n_annotations"].values,
        label_shares=constant["label_shares"].values,
        label_alphas=constant["label_alphas"].values,
        n_gold=int(constant["n_gold"]),
        hash=fit.attrs["data_hash"],
        order_declared=_is_in_order(constant),
    )


def _names(dataset: xr.Dataset, dim: str) -> tuple[str, ...]:
    return tuple(str(name) for name in dataset[dim].values)


def model_of(fit: xr.DataTree) -> AnnotationModel:
    """Return the model of a fit, with its priors.

    Raises
    ------
    FitError
        If the tree is not a fit by bayesanno.
    """
    require_fit(fit)
    return get_model(fit.attrs["model"], json.loads(fit.attrs["fields"]))


def diagnostics_of(fit: xr.DataTree) -> dict[str, Any]:
    """Return a fit's diagnostics: R-hat, ESS, divergences, E-BFMI, relabelling, chains in different modes.

    They are stored in the fit. `fit.isel(chain=...)` does not update them; `drop_chains` does.

    Raises
    ------
    FitError
        If the tree is not a fit by bayesanno.
    """
    require_fit(fit)
    return json.loads(fit.attrs["diagnostics"])


def hyperparameters(graph: pm.Model, model: AnnotationModel) -> dict[str, np.ndarray]:
    """Return the graph's data containers with the model's priors."""
    named = {container.name: container.get_value() for container in graph.data_vars}
    options = [option for one in (model, *terms_of(model)) for option in one.to_fields().items()]
    return {name: named[name] for name, value in options if name in named and not isinstance(value, str)}


def versions() -> dict[str, str]:
    """Return the versions of the packages that a result depends on."""
    return {name: version(name) for name in ("bayesanno", "pymc", "pytensor", "nutpie", "arviz", "numpy", "xarray")}


def save(fit: xr.DataTree, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a fit to one NetCDF file; an interrupted write leaves the old file.

    Parameters
    ----------
    fit : xarray.DataTree
    path : str or Path
    overwrite : bool, default False
        Whether to replace an existing file.

    Raises
    ------
    FitError
        If the tree is not a fit by bayesanno.
    DataFileError
        If the file exists and is not to be replaced, the folder does not exist, or the file cannot be written.
    """
    require_tree(fit)
    path = Path(path)
    if path.exists() and not overwrite:
        raise DataFileError(f"{path} exists: give another path, or {option('overwrite', True)} to replace it")
    if not path.parent.is_dir():
        raise DataFileError(f"cannot write {path}: there is no folder {path.parent}")
    # In memory first: HDF5 crashes Python if the disk is full.
    with write_whole(path) as unfinished, fit.to_netcdf(engine="h5netcdf") as content, unfinished.open("wb") as file:
        file.write(content)


def load(path: str | Path) -> xr.DataTree:
    """Read a fit into memory, so that the file can be overwritten.

    Raises
    ------
    DataFileError
        If the file does not exist.
    FitError
        If the file is not a fit by bayesanno, or comes from a newer version.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "posterior.nc"
    if not path.is_file():
        raise DataFileError(
            f"there is no fit at {path}: give the posterior.nc that `bayesanno fit` wrote, or its folder"
        )
    try:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            fit = tree.load()
    except (OSError, KeyError, ValueError) as error:
        raise FitError(f"{path} cannot be read as a fit: {error}") from error
    require_fit(fit)
    _refuse_newer(fit, path)
    free_old_fits(fit)
    return fit


def free_old_fits(fit: xr.DataTree) -> None:
    """Free large fits that are no longer referenced.

    A tree is a reference cycle, which Python frees late, since it counts objects and not bytes. A sequence of thirty
    fits of 86 MiB took 1,330 MiB without this function, and 650 with it.
    """
    if fit.nbytes > LARGE_FIT and gc.isenabled():
        gc.collect()


def _refuse_newer(fit: xr.DataTree, path: Path) -> None:
    from packaging.version import Version

    written, here = (json.loads(fit.attrs["versions"])["bayesanno"], version("bayesanno"))
    if Version(written) > Version(here):
        raise FitError(
            f"{path} was written by bayesanno {written}, but this is {here}: install that version or a newer one"
        )


def is_tree(given: Any) -> bool:
    """Return whether a value is a tree, like a fit; a tree is also a mapping."""
    return isinstance(given, xr.DataTree)


def require_tree(fit: Any) -> None:
    """Raise a FitError if the value is not a tree, like a fit."""
    if not is_tree(fit):
        raise FitError(f"a fit is needed, not {type(fit).__name__}: give the result of bayesanno.fit or bayesanno.load")


def require_fit(fit: xr.DataTree) -> None:
    """Raise a FitError if the tree is not a fit by bayesanno."""
    require_tree(fit)
    groups = ["posterior", "constant_data", *([] if is_on_dask(fit) else ["latent", "observed_data"])]
    missing = [group for group in groups if group not in fit.children]
    if missing or "model" not in fit.attrs:
        raise FitError(f"this is not a fit by bayesanno: it lacks {', '.join(missing) or 'the name of its model'}")
    if "annotation_dimension" in fit["constant_data"] and not fit["latent"].children:
        raise FitError(
            "an older version of bayesanno made this fit, with names of dimensions inside names of variables: fit the "
            "data again"
        )
    if "latent_before" in fit.children:
        raise FitError("an older version of bayesanno recalibrated this fit: recalibrate the original fit again")


def log_likelihood_group(model: AnnotationModel, data: Data, posterior: xr.Dataset, values: np.ndarray) -> xr.Dataset:
    """Return log-likelihoods per draw and item, (chain, draw, item), as a group of a fit."""
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values, "item": list(data.items)}
    return xr.Dataset({DATA_ADAPTERS[model.data_class].observed: (tuple(coords), values)}, coords=coords)
