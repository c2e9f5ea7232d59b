"""Files of a run: written under a temporary name and renamed, so that a folder is whole or not there."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesanno.data.annotations import AnnotationData, CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataFileError
from bayesanno.io.annotations import write_annotations, write_counts
from bayesanno.io.dimensions import write_dimensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import xarray

    from bayesanno.fits.view import FitView
    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

NUMBERS = "%.6g"  # how tables are written: six significant digits


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder beside `path` that takes its place on success and is removed on failure.

    Raises
    ------
    DataFileError
        If `path` exists and is not to be overwritten, or is not what a run wrote, or its parent does not exist or
        cannot be written to.
    """
    if path.exists() and not overwrite:
        raise DataFileError(f"{path} exists: choose another --out, or --overwrite")
    if path.exists() and not (path / "run.json").is_file():
        raise DataFileError(f"{path} is not a folder that a run wrote, and is not replaced: choose another --out")
    if not path.absolute().parent.is_dir():
        raise DataFileError(f"there is no folder {path.absolute().parent} to write {path.name} into")
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.absolute().parent))
    except OSError as error:
        raise DataFileError(f"cannot write to {path.absolute().parent}: {error.strerror}") from error
    try:
        yield temporary
        temporary.chmod(0o755)
        old = temporary.with_name(temporary.name + "-old")
        if path.exists():
            path.replace(old)
        temporary.replace(path)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_fit(fit: xarray.DataTree | FitView, folder: Path, *, coverage: float | None, began: float) -> dict[str, Any]:
    """Write a fit's files to a folder and return what run.json holds.

    Numbers in the tables have six significant digits; posterior.nc has all.
    """
    from bayesanno.analysis.labels import annotator_table, label_table, parameter_table
    from bayesanno.fits.storage import save
    from bayesanno.fits.view import view_of

    view = view_of(fit)  # so that data, model and posterior are read once for all tables
    save(view.tree, folder / "posterior.nc")
    tables = {"labels.csv": label_table(view, coverage=coverage)}
    if view.model.competence is not None:
        tables["annotators.csv"] = annotator_table(view)
    tables["summary.csv"] = parameter_table(view)
    for name, table in tables.items():
        table.to_csv(folder / name, index=False, float_format=NUMBERS)
    run = describe_run(view, total=time.perf_counter() - began)
    run["files"] = ["posterior.nc", *tables, "run.json"]
    (folder / "run.json").write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    return run


def describe_run(fit: xarray.DataTree | FitView, *, total: float) -> dict[str, Any]:
    """Return what a run was and what came of it, as JSON can hold it."""
    from bayesanno.analysis.labels import score
    from bayesanno.fits.view import view_of

    view = view_of(fit)
    attrs = view.tree.attrs
    return {
        "model": attrs["model"],
        "fields": json.loads(attrs["fields"]),
        "method": attrs["method"],
        "nuts_sampler": attrs.get("nuts_sampler"),
        "settings": json.loads(attrs["settings"]),
        "seed": attrs["random_seed"],
        "versions": json.loads(attrs["versions"]),
        "data": KINDS[type(view.data)].describe(view.data) | {"hash": attrs["data_hash"]},
        "seconds": {"compile": attrs["seconds_compile"], "sample": attrs["seconds_sample"], "total": total},
        "diagnostics": view.diagnostics,
        **score(view),
    }


def write_simulation(
    model: AnnotationModel, data: Data, truth: xarray.Dataset, path: Path, *, seed: int | None
) -> list[Path]:
    """Write simulated annotations (CSV with gold) or counts, and beside it what made them (JSON).

    The JSON holds the parameters and, where they are no labels, the states of the items.
    """
    parameters = {
        name: {
            "dims": list(variable.dims),
            "coords": {dim: [str(value) for value in variable[dim].values] for dim in variable.dims},
            "values": variable.values.tolist(),
        }
        for name, variable in truth.data_vars.items()
    }
    made_by = {"model": model.name, "fields": model.to_fields(), "seed": seed, "parameters": parameters}
    KINDS[type(data)].write(data, path)
    beside = path.with_suffix(".json")
    beside.write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    return [path, beside]


# ------------------------------------------------------------------------------------------------- kinds of data


@dataclass(frozen=True)
class KindOnFile:
    """What a kind of data is in the files of a run: some numbers in run.json, and a table that a reader reads."""

    describe: Callable[[Any], dict[str, Any]]
    write: Callable[[Any, Path], None]


def _describe_annotations(data: AnnotationData) -> dict[str, Any]:
    return {
        "items": data.n_items,
        "annotators": data.n_annotators,
        "labels": data.n_labels,
        "annotations": data.n_annotations,
        "label_names": list(data.labels),
    }


def _describe_dimensions(data: MultiAnnotationData) -> dict[str, Any]:
    names = {name: list(part.labels) for name, part in data.by_dimension.items()}
    return {
        "items": data.n_items,
        "annotators": data.n_annotators,
        "labels": {name: len(labels) for name, labels in names.items()},
        "annotations": data.n_annotations,
        "label_names": names,
    }


def _describe_counts(data: CountData) -> dict[str, Any]:
    return {"items": data.n_items, "trials": int(data.trials.sum()), "successes": int(data.successes.sum())}


KINDS: dict[type, KindOnFile] = {
    AnnotationData: KindOnFile(_describe_annotations, write_annotations),
    MultiAnnotationData: KindOnFile(_describe_dimensions, write_dimensions),
    CountData: KindOnFile(_describe_counts, write_counts),
}
