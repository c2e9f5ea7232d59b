"""Files of a run: written under a temporary name and renamed, so that a folder is whole or not there."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesanno.data.counts import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.errors import DataFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import xarray

    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data


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


def write_fit(fit: xarray.DataTree, folder: Path, *, coverage: float | None, began: float) -> dict[str, Any]:
    """Write a fit's files to a folder and return what run.json holds."""
    from bayesanno.analysis.annotators import annotator_table, has_competence
    from bayesanno.analysis.labels import label_table
    from bayesanno.analysis.parameters import summary
    from bayesanno.fits.storage import save

    save(fit, folder / "posterior.nc")
    tables = {"labels.csv": label_table(fit, coverage=coverage)}
    if has_competence(fit):
        tables["annotators.csv"] = annotator_table(fit)
    tables["summary.csv"] = summary(fit)
    for name, table in tables.items():
        table.to_csv(folder / name, index=False)
    run = describe_run(fit, total=time.perf_counter() - began)
    run["files"] = ["posterior.nc", *tables, "run.json"]
    (folder / "run.json").write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    return run


def describe_run(fit: xarray.DataTree, *, total: float) -> dict[str, Any]:
    """Return what a run was and what came of it, as JSON can hold it."""
    from bayesanno.analysis.accuracy import score
    from bayesanno.fits.storage import data_of, diagnostics_of

    data, attrs = data_of(fit), fit.attrs
    return {
        "model": attrs["model"],
        "fields": json.loads(attrs["fields"]),
        "method": attrs["method"],
        "engine": attrs["engine"],
        "seed": attrs["random_seed"],
        "versions": json.loads(attrs["versions"]),
        "data": _describe_data(data) | {"hash": attrs["data_hash"]},
        "seconds": {"compile": attrs["seconds_compile"], "sample": attrs["seconds_sample"], "total": total},
        "diagnostics": diagnostics_of(fit),
        **score(fit),
    }


def describe_accuracy(run: Mapping[str, Any]) -> list[str]:
    """Return accuracy against gold in words: one line, or one for each of several dimensions; none without gold."""
    if "accuracy" not in run:
        return []
    found = [run[name] for name in ("accuracy", "accuracy_at_90", "accuracy_at_75")]
    several = isinstance(run["accuracy"], dict)
    rows = {f" in {name}": [values[name] for values in found] for name in run["accuracy"]} if several else {"": found}
    return [
        f"accuracy against gold{where} {of_all:.4f}; of the surest 90% of items {of_90:.4f}, "
        f"of the surest 75% {of_75:.4f}"
        for where, (of_all, of_90, of_75) in rows.items()
    ]


def _describe_data(data: Data) -> dict[str, Any]:
    if isinstance(data, CountData):
        return {"items": data.n_items, "trials": int(data.trials.sum()), "successes": int(data.successes.sum())}
    if isinstance(data, MultiAnnotationData):
        names = {name: list(part.labels) for name, part in data.by_dimension.items()}
        return {
            "items": data.n_items,
            "annotators": data.n_annotators,
            "labels": {name: len(labels) for name, labels in names.items()},
            "annotations": data.n_annotations,
            "label_names": names,
        }
    return {
        "items": data.n_items,
        "annotators": data.n_annotators,
        "labels": data.n_labels,
        "annotations": data.n_annotations,
        "label_names": list(data.labels),
    }


def write_simulation(
    entry: AnnotationModel, data: Data, truth: xarray.Dataset, path: Path, *, seed: int | None
) -> list[Path]:
    """Write simulated annotations (CSV with gold) or counts, and beside it what made them (JSON).

    The JSON holds the parameters and, where they are no labels, the states of the items.
    """
    from bayesanno.io.write import write_data

    parameters = {
        name: {
            "dims": list(variable.dims),
            "coords": {dim: [str(value) for value in variable[dim].values] for dim in variable.dims},
            "values": variable.values.tolist(),
        }
        for name, variable in truth.data_vars.items()
    }
    story = {"model": entry.name, "fields": entry.to_fields(), "seed": seed, "parameters": parameters}
    write_data(data, path)
    beside = path.with_suffix(".json")
    beside.write_text(json.dumps(story, indent=2) + "\n", encoding="utf-8")
    return [path, beside]
