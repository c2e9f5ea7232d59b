"""A fit is one self-contained DataTree: it includes its model and its data, and is stored in one NetCDF file."""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bayesanno._core.files import write_whole
from bayesanno._core.lazy import pm, xr
from bayesanno._core.messages import DataFileError, FitError, option
from bayesanno.data.totals import AnnotationTotals
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.kinds import Data, kind_of
from bayesanno.modeling.kinds.annotations import IN_ORDER, is_in_order, read_names
from bayesanno.modeling.registry import get_model

MAX_GROUP_BYTES = 2 * 2**30  # larger groups, with one number per draw and item, are made only on request
LARGE_FIT = 32 * 2**20  # bytes


def data_groups(data: Any) -> dict[str, xr.Dataset]:
    """Return data as groups of a fit, `constant_data` among them, which `data_of` or `totals_of` restores."""
    if not isinstance(data, AnnotationTotals):
        return kind_of(data).to_groups(data)
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


def groups_by_dimension(group: str, parts: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Return the groups of a tree with one dataset for each dimension, or with the only dataset, under ""."""
    return {f"{group}/{name}" if name else group: part for name, part in parts.items()}


def read_by_dimension(fit: xr.DataTree, group: str) -> dict[str, xr.Dataset]:
    """Return the content of a group of a fit by dimension, or under "" without dimensions."""
    node = fit.children[group]
    return {name: part.to_dataset() for name, part in node.children.items()} or {"": node.to_dataset()}


def data_of(fit: xr.DataTree) -> Any:
    """Return the data of a fit, of the kind that its model takes.

    Raises
    ------
    FitError
        If the tree is not a fit by bayesanno, its data are incomplete, or they were on the workers of a cluster.
    """
    require_fit(fit)
    if is_on_dask(fit):
        refuse_items()
    groups = {name: group.to_dataset() for name, group in fit.children.items() if not group.children}
    try:
        return kind_of(model_of(fit)).from_groups(groups)
    except KeyError as error:
        raise FitError(f"the data of this fit are incomplete: {str(error.args[0]).split('.')[0]}") from None


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
        annotators=read_names(constant, "annotator"),
        labels=read_names(constant, "response"),
        n_items=int(constant["n_items"]),
        by_annotator=constant["n_annotations"].values,
        label_shares=constant["label_shares"].values,
        label_alphas=constant["label_alphas"].values,
        n_gold=int(constant["n_gold"]),
        hash=fit.attrs["data_hash"],
        order_declared=is_in_order(constant),
    )


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
    with write_whole(path) as unfinished, encode_fit(fit) as content, unfinished.open("wb") as file:
        file.write(content)


def encode_fit(fit: xr.DataTree) -> memoryview:
    """Return the content of a NetCDF file, as `fit.to_netcdf(engine="h5netcdf")` does, which imports Dask's cluster."""
    from h5netcdf import File
    from xarray.backends import H5NetCDFStore

    content = BytesIO()
    with File(content, "w") as file:
        for node in fit.subtree:
            store = H5NetCDFStore(file, group=None if node is fit else node.path, mode="w")
            node.to_dataset(inherit=node is fit).compute().dump_to_store(store)
    return content.getbuffer()


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
    groups = ["posterior", "constant_data", *([] if is_on_dask(fit) else ["observed_data"])]
    missing = [group for group in groups if group not in fit.children]
    if missing or "model" not in fit.attrs:
        raise FitError(f"this is not a fit by bayesanno: it lacks {', '.join(missing) or 'the name of its model'}")
    if "annotation_dimension" in fit["constant_data"] and "latent" in fit.children and not fit["latent"].children:
        raise FitError(
            "an older version of bayesanno made this fit, with names of dimensions inside names of variables: fit the "
            "data again"
        )
    if "latent_before" in fit.children:
        raise FitError("an older version of bayesanno recalibrated this fit: recalibrate the original fit again")


def log_likelihood_group(model: AnnotationModel, data: Data, posterior: xr.Dataset, values: np.ndarray) -> xr.Dataset:
    """Return log-likelihoods per draw and item, (chain, draw, item), as a group of a fit."""
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values, "item": list(data.items)}
    return xr.Dataset({kind_of(model).observed: (tuple(coords), values)}, coords=coords)
