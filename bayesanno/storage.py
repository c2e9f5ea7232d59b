"""A fit is one DataTree that suffices alone: it gives back its model and its data, and lives in one NetCDF file."""

from __future__ import annotations

import json
import os
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesanno.data import AnnotationData
from bayesanno.errors import DataFileError, FitError
from bayesanno.lazy import xr
from bayesanno.zoo import get_model

if TYPE_CHECKING:
    import numpy as np
    import pymc as pm
    import xarray

    from bayesanno.base import AnnotationModel


def data_groups(data: AnnotationData) -> dict[str, xarray.Dataset]:
    """Return the annotations as the groups `observed_data` and `constant_data` of a fit."""
    observed = xr.Dataset({"annotations": ("annotation", data.label)})
    constant = xr.Dataset(
        {
            "annotation_item": ("annotation", data.item),
            "annotation_annotator": ("annotation", data.annotator),
            "gold": ("item", [data.gold.get(item, "") for item in data.items]),
            "control": ("item", [data.controls.get(item, "") for item in data.items]),
        },
        coords={"item": list(data.items), "annotator": list(data.annotators), "response": list(data.labels)},
    )
    return {"observed_data": observed, "constant_data": constant}


def data_of(fit: xarray.DataTree) -> AnnotationData:
    """Return the annotations that a fit was made from.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno.
    """
    _require_fit(fit)
    constant = fit["constant_data"].to_dataset()
    items = [str(name) for name in constant["item"].values]
    known = {
        what: {item: str(label) for item, label in zip(items, constant[what].values, strict=True) if str(label)}
        for what in ("gold", "control")
    }
    return AnnotationData(
        item=constant["annotation_item"].values,
        annotator=constant["annotation_annotator"].values,
        label=fit["observed_data"].to_dataset()["annotations"].values,
        items=tuple(items),
        annotators=tuple(str(name) for name in constant["annotator"].values),
        labels=tuple(str(name) for name in constant["response"].values),
        gold=known["gold"],
        controls=known["control"],
    )


def model_of(fit: xarray.DataTree) -> AnnotationModel:
    """Return the model, with its priors, that a fit was made with.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno.
    """
    _require_fit(fit)
    return get_model(fit.attrs["model"], json.loads(fit.attrs["fields"]))


def diagnostics_of(fit: xarray.DataTree) -> dict[str, Any]:
    """Return a fit's diagnostics: R-hat, ESS, divergences, E-BFMI, relabelling, chains in different modes.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno.
    """
    _require_fit(fit)
    found: dict[str, Any] = json.loads(fit.attrs["diagnostics"])
    return found


def hyperparameters(model: pm.Model, entry: AnnotationModel) -> dict[str, np.ndarray]:
    """Return the model's data containers that hold its priors."""
    named = {container.name: container.get_value() for container in model.data_vars}
    return {name: named[name] for name in entry.to_fields() if name in named}


def versions() -> dict[str, str]:
    """Return the versions of what a result depends on."""
    return {name: version(name) for name in ("bayesanno", "pymc", "pytensor", "nutpie", "arviz", "numpy", "xarray")}


def save(fit: xarray.DataTree, path: str | Path) -> None:
    """Write a fit to one NetCDF file; the file is whole or not there.

    Raises
    ------
    DataFileError
        If the folder does not exist.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise DataFileError(f"cannot write {path}: there is no folder {path.parent}")
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".nc")
    os.close(handle)
    try:
        fit.to_netcdf(temporary, engine="h5netcdf")
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def load(path: str | Path) -> xarray.DataTree:
    """Read a fit, whole, so that the file can be rewritten.

    Raises
    ------
    DataFileError
        If there is no such file.
    FitError
        If the file is not a fit by bayesanno.
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
    _require_fit(fit)
    return fit


def _require_fit(fit: xarray.DataTree) -> None:
    missing = [
        group for group in ("posterior", "latent", "constant_data", "observed_data") if group not in fit.children
    ]
    if missing or "model" not in fit.attrs:
        raise FitError(f"this is not a fit by bayesanno: it lacks {', '.join(missing) or 'the name of its model'}")
