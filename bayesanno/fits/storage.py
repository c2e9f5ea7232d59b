"""A fit is one DataTree that suffices alone: it gives back its model and its data, and lives in one NetCDF file."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import singledispatch
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.data.totals import AnnotationTotals
from bayesanno.ground.errors import DataFileError, FitError
from bayesanno.ground.files import write_whole
from bayesanno.ground.lazy import xr
from bayesanno.modeling.registry import get_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pymc
    import xarray

    from bayesanno.modeling.base import AnnotationModel


UNSURE = "unsure"  # of each response whether it is no class; only where one is none


@singledispatch
def data_groups(data: Any) -> dict[str, xarray.Dataset]:
    """Return data as the groups `observed_data` and `constant_data` of a fit; `data_of` gives the data back.

    A kind of data is written by a function registered here, and read by its entry of `READERS`.
    """
    raise TypeError(f"no kind of data: {type(data).__name__}")


@data_groups.register(AnnotationData)
def _(data: AnnotationData) -> dict[str, xarray.Dataset]:
    unsure = {UNSURE: ("response", [name in data.unsure for name in data.labels])} if data.unsure else {}
    known = {what: ("item", names[0]) for what, names in _known_labels([data]).items()}
    return _annotation_groups({"": data}, known | unsure, {"response": list(data.labels)})


@data_groups.register(MultiAnnotationData)
def _(data: MultiAnnotationData) -> dict[str, xarray.Dataset]:
    parts = data.by_dimension
    known = _known_labels(list(parts.values()))
    of = np.repeat(np.arange(len(parts)), [part.n_annotations for part in parts.values()])
    return _annotation_groups(
        parts,
        {"annotation_dimension": ("annotation", of)}
        | {what: (("dimension", "item"), names) for what, names in known.items()},
        {"dimension": list(parts)} | {f"response_{name}": list(part.labels) for name, part in parts.items()},
    )


@data_groups.register(AnnotationTotals)
def _(data: AnnotationTotals) -> dict[str, xarray.Dataset]:
    variables = {
        "n_annotations": ("annotator", data.by_annotator),
        "label_shares": ("response", data.label_shares),
        "label_alphas": ("response", data.label_alphas),
        "n_items": ((), data.n_items),
        "n_gold": ((), data.n_gold),
    }
    coords = {"annotator": list(data.annotators), "response": list(data.labels)}
    return {"constant_data": xr.Dataset(variables, coords=coords)}


@data_groups.register(CountData)
def _(data: CountData) -> dict[str, xarray.Dataset]:
    coords = {"item": list(data.items)}
    return {
        "observed_data": xr.Dataset({"successes": ("item", data.successes)}, coords=coords),
        "constant_data": xr.Dataset({"trials": ("item", data.trials)}, coords=coords),
    }


def _known_labels(parts: list[AnnotationData]) -> dict[str, list[list[str]]]:
    """Return the gold label and the control of each item of each dimension, "" where there is none."""
    return {
        what: [[getattr(part, source).get(item, "") for item in part.items] for part in parts]
        for what, source in (("gold", "gold"), ("control", "controls"))
    }  # (dimension, item)


def _annotation_groups(
    parts: Mapping[str, AnnotationData], variables: Mapping[str, Any], coords: Mapping[str, list[str]]
) -> dict[str, xarray.Dataset]:
    """Return the annotations of one or several dimensions, one after the other, with what else is known."""
    tables = list(parts.values())
    long = {name: np.concatenate([getattr(one, name) for one in tables]) for name in ("item", "annotator", "label")}
    constant = {f"annotation_{name}": ("annotation", long[name]) for name in ("item", "annotator")}
    return {
        "observed_data": xr.Dataset({"annotations": ("annotation", long["label"])}),
        "constant_data": xr.Dataset(
            {**constant, **variables},
            coords={"item": list(tables[0].items), "annotator": list(tables[0].annotators), **coords},
        ),
    }


def _read_annotations(observed: xarray.Dataset, constant: xarray.Dataset) -> AnnotationData:
    labels = _names(constant, "response")
    table = _read_table(observed, constant, slice(None), labels, constant["gold"].values, constant["control"].values)
    if UNSURE not in constant:
        return table
    unsure = tuple(name for name, is_none in zip(labels, constant[UNSURE].values, strict=True) if is_none)
    return replace(table, unsure=unsure)


def _read_dimensions(observed: xarray.Dataset, constant: xarray.Dataset) -> MultiAnnotationData:
    dimension = constant["annotation_dimension"].values  # (annotation,)
    gold, control = constant["gold"].values, constant["control"].values  # (dimension, item)
    return MultiAnnotationData(
        by_dimension={
            name: _read_table(
                observed, constant, dimension == code, _names(constant, f"response_{name}"), gold[code], control[code]
            )
            for code, name in enumerate(_names(constant, "dimension"))
        }
    )


def _read_table(
    observed: xarray.Dataset, constant: xarray.Dataset, chosen: Any, labels: tuple[str, ...], gold: Any, control: Any
) -> AnnotationData:
    """Return one table: the annotations that are `chosen`, and what is known of each item (item,)."""
    items = _names(constant, "item")
    return AnnotationData(
        item=constant["annotation_item"].values[chosen],
        annotator=constant["annotation_annotator"].values[chosen],
        label=observed["annotations"].values[chosen],
        items=items,
        annotators=_names(constant, "annotator"),
        labels=labels,
        gold={item: str(label) for item, label in zip(items, gold, strict=True) if str(label)},
        controls={item: str(label) for item, label in zip(items, control, strict=True) if str(label)},
    )


def _read_counts(observed: xarray.Dataset, constant: xarray.Dataset) -> CountData:
    items = _names(constant, "item")
    return CountData(items=items, successes=observed["successes"].values, trials=constant["trials"].values)


READERS: dict[type, Callable[[xarray.Dataset, xarray.Dataset], Any]] = {
    AnnotationData: _read_annotations,
    MultiAnnotationData: _read_dimensions,
    CountData: _read_counts,
}


def data_of(fit: xarray.DataTree) -> Any:
    """Return the data that a fit was made from: AnnotationData, or of the class that its model is of.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno, its data are not whole, or they lay on the workers of a cluster.
    """
    require_fit(fit)
    if is_spread(fit):
        refuse_items()
    read = READERS[model_of(fit).data_class]
    try:
        return read(fit["observed_data"].to_dataset(), fit["constant_data"].to_dataset())
    except KeyError as error:
        raise FitError(f"the data of this fit are not whole: {str(error.args[0]).split('.')[0]}") from None


def is_spread(fit: xarray.DataTree) -> bool:
    """Whether a fit is of annotations that lay on the workers of a cluster: it holds no items."""
    return "e_step" in fit.children


def refuse_items() -> NoReturn:
    """Raise a FitError that says that a fit holds no items, and where to find them."""
    raise FitError(
        "this fit was made on Dask and holds parameters, but no items and no annotations: write_labels(fit, data, "
        "folder) writes the labels as Parquet; annotator_table, summary and confusion_table need no items"
    )


def totals_of(fit: xarray.DataTree) -> AnnotationTotals:
    """Return what is known of the whole of the data of a fit that holds none."""
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
    )


def _names(dataset: xarray.Dataset, dim: str) -> tuple[str, ...]:
    return tuple(str(name) for name in dataset[dim].values)


def model_of(fit: xarray.DataTree) -> AnnotationModel:
    """Return the model, with its priors, that a fit was made with.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno.
    """
    require_fit(fit)
    return get_model(fit.attrs["model"], json.loads(fit.attrs["fields"]))


def diagnostics_of(fit: xarray.DataTree) -> dict[str, Any]:
    """Return a fit's diagnostics: R-hat, ESS, divergences, E-BFMI, relabelling, chains in different modes.

    They are stored with the fit: `fit.isel(chain=...)` leaves them those of all chains, and `drop_chains` does not.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno.
    """
    require_fit(fit)
    found: dict[str, Any] = json.loads(fit.attrs["diagnostics"])
    return found


def hyperparameters(graph: pymc.Model, model: AnnotationModel) -> dict[str, np.ndarray]:
    """Return the graph's data containers that hold the model's priors."""
    named = {container.name: container.get_value() for container in graph.data_vars}
    options = model.to_fields().items()
    return {name: named[name] for name, value in options if name in named and not isinstance(value, str)}


def versions() -> dict[str, str]:
    """Return the versions of what a result depends on."""
    return {name: version(name) for name in ("bayesanno", "pymc", "pytensor", "nutpie", "arviz", "numpy", "xarray")}


def save(fit: xarray.DataTree, path: str | Path) -> None:
    """Write a fit to one NetCDF file; the file is whole, or as it was before.

    Raises
    ------
    FitError
        If this is no fit.
    DataFileError
        If the folder does not exist.
    """
    require_tree(fit)
    path = Path(path)
    if not path.parent.is_dir():
        raise DataFileError(f"cannot write {path}: there is no folder {path.parent}")
    with write_whole(path) as unfinished:
        fit.to_netcdf(unfinished, engine="h5netcdf")


def load(path: str | Path) -> xarray.DataTree:
    """Read a fit, whole, so that the file can be rewritten.

    Raises
    ------
    DataFileError
        If there is no such file.
    FitError
        If the file is not a fit by bayesanno, or is one by a newer version.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "posterior.nc"
    if not path.is_file():
        raise DataFileError(
            f"there is no fit at {path}: name the posterior.nc that `bayesanno fit` wrote, or its folder"
        )
    try:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            fit = tree.load()
    except (OSError, KeyError, ValueError) as error:
        raise FitError(f"{path} cannot be read as a fit: {error}") from error
    require_fit(fit)
    _refuse_newer(fit, path)
    return fit


def _refuse_newer(fit: xarray.DataTree, path: Path) -> None:
    from packaging.version import Version

    written, here = (json.loads(fit.attrs["versions"])["bayesanno"], version("bayesanno"))
    if Version(written) > Version(here):
        raise FitError(
            f"{path} was written by bayesanno {written}, and this is {here}: install that version or a newer one"
        )


def is_tree(given: Any) -> bool:
    """Return whether something is a tree, as fits are; which is a mapping, too."""
    return isinstance(given, xr.DataTree)


def require_tree(fit: Any) -> None:
    """Raise a FitError unless this is a tree, as fits are."""
    if not is_tree(fit):
        what = f"a fit is needed, not {type(fit).__name__}"
        raise FitError(f"{what}: what bayesanno.fit returned, or bayesanno.load(path)")


def require_fit(fit: xarray.DataTree) -> None:
    """Raise a FitError unless this is a fit by bayesanno."""
    require_tree(fit)
    groups = ["posterior", "constant_data", *([] if is_spread(fit) else ["latent", "observed_data"])]
    missing = [group for group in groups if group not in fit.children]
    if missing or "model" not in fit.attrs:
        raise FitError(f"this is not a fit by bayesanno: it lacks {', '.join(missing) or 'the name of its model'}")
