"""A fit is one DataTree that suffices alone: it gives back its model and its data, and lives in one NetCDF file."""

from __future__ import annotations

import json
import os
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataFileError, FitError
from bayesanno.ground.lazy import xr
from bayesanno.modeling.capabilities import known_parameters
from bayesanno.modeling.registry import get_model

if TYPE_CHECKING:
    import pymc as pm
    import xarray

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data


def data_groups(data: Data) -> dict[str, xarray.Dataset]:
    """Return data as the groups `observed_data` and `constant_data` of a fit."""
    if isinstance(data, CountData):
        observed = xr.Dataset({"successes": ("item", data.successes)})
        constant = xr.Dataset({"trials": ("item", data.trials)})
        coords: dict[str, Any] = {"item": list(data.items)}
        return {"observed_data": observed.assign_coords(coords), "constant_data": constant.assign_coords(coords)}
    coords = {"item": list(data.items), "annotator": list(data.annotators)}
    parts = {"": data} if isinstance(data, AnnotationData) else data.by_dimension
    variables: dict[str, Any] = {
        "annotation_item": ("annotation", np.concatenate([part.item for part in parts.values()])),
        "annotation_annotator": ("annotation", np.concatenate([part.annotator for part in parts.values()])),
    }
    known = {
        what: [[getattr(part, source).get(item, "") for item in data.items] for part in parts.values()]
        for what, source in (("gold", "gold"), ("control", "controls"))
    }  # (dimension, item)
    if isinstance(data, AnnotationData):
        coords["response"] = list(data.labels)
        variables |= {what: ("item", names[0]) for what, names in known.items()}
    else:
        coords |= {"dimension": list(parts)} | {f"response_{name}": list(part.labels) for name, part in parts.items()}
        of = np.repeat(np.arange(len(parts)), [part.n_annotations for part in parts.values()])
        variables |= {"annotation_dimension": ("annotation", of)}
        variables |= {what: (("dimension", "item"), names) for what, names in known.items()}
    return {
        "observed_data": xr.Dataset({"annotations": ("annotation", data.label)}),
        "constant_data": xr.Dataset(variables, coords=coords),
    }


def data_of(fit: xarray.DataTree) -> Any:
    """Return the data that a fit was made from: AnnotationData, or of the class that its model is of.

    Raises
    ------
    FitError
        If this is not a fit by bayesanno.
    """
    _require_fit(fit)
    observed, constant = fit["observed_data"].to_dataset(), fit["constant_data"].to_dataset()
    items = _names(constant, "item")
    if "successes" in observed:
        return CountData(items=items, successes=observed["successes"].values, trials=constant["trials"].values)
    said = observed["annotations"].values

    def part(chosen: Any, labels: tuple[str, ...], gold: Any, control: Any) -> AnnotationData:
        return AnnotationData(
            item=constant["annotation_item"].values[chosen],
            annotator=constant["annotation_annotator"].values[chosen],
            label=said[chosen],
            items=items,
            annotators=_names(constant, "annotator"),
            labels=labels,
            gold={item: str(label) for item, label in zip(items, gold, strict=True) if str(label)},
            controls={item: str(label) for item, label in zip(items, control, strict=True) if str(label)},
        )

    gold, control = constant["gold"].values, constant["control"].values
    if "dimension" not in constant:
        return part(slice(None), _names(constant, "response"), gold, control)
    return MultiAnnotationData(
        by_dimension={
            name: part(
                constant["annotation_dimension"].values == code,
                _names(constant, f"response_{name}"),
                gold[code],
                control[code],
            )
            for code, name in enumerate(_names(constant, "dimension"))
        }
    )


def _names(dataset: xarray.Dataset, dim: str) -> tuple[str, ...]:
    return tuple(str(name) for name in dataset[dim].values)


def fixed_of(fit: xarray.DataTree) -> dict[str, np.ndarray]:
    """Return the parameters that the fit's model took from the data beforehand."""
    entry, data = model_of(fit), data_of(fit)
    constant = fit["constant_data"].to_dataset()
    return {name: constant[name].values for name in known_parameters(entry, data)}


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
    options = entry.to_fields().items()
    return {name: named[name] for name, value in options if name in named and not isinstance(value, str)}


def fixed_parameters(
    model: pm.Model, entry: AnnotationModel, data: Data
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Return the parameters that the model took from the data beforehand, with their dimensions."""
    dims = model.named_vars_to_dims
    return {name: (tuple(dims[name]), model[name].get_value()) for name in known_parameters(entry, data)}


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
