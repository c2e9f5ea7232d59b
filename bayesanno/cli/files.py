"""Files of a run: written under a temporary name and renamed, so that a folder is complete or absent."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import bayesanno as ba
from bayesanno._core.files import write_whole
from bayesanno._core.intervals import find_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import counted, enumerated, name_error, percent
from bayesanno._core.running import status
from bayesanno.agreement.vote import vote_right
from bayesanno.analysis.annotators import agree_with_gold
from bayesanno.analysis.coefficients import has_effects
from bayesanno.analysis.labels import score
from bayesanno.analysis.ranking import has_pairs
from bayesanno.analysis.recalibrate import about_recalibration
from bayesanno.analysis.write_labels import WrittenLabels
from bayesanno.data.labelled import ANYONE
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.view import ADJUSTMENT, Fit, FitView, parts_of, view_of
from bayesanno.inference.diagnosis.findings import MISFIT, WRONG, read_findings
from bayesanno.io.check import doubt_data
from bayesanno.io.write import write_table
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.kinds import Data
from bayesanno.modeling.pairs import SUBSET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW_GOLD = 5  # answers to items of known label: annotators with fewer are not named, unless all have fewer
MOST_FINDINGS = 5  # lines after a fit; the report has all
CANNOT_SEE = "only true labels can show errors that all annotators of an item share"
BESIDE = {
    "accuracy_at_90": "of the most certain 90%",
    "accuracy_at_75": "of the most certain 75%",
    "vote_accuracy": "majority vote",
}
LARGE = 100  # numbers in tables on the screen with one decimal
SIX_DIGITS = "%.6g"  # significant ones, of numbers in tables


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder next to `path` that takes its place on success and is removed on failure.

    Raises
    ------
    DataFileError
        If `path` exists and is not to be overwritten, or is not what a run wrote, or its parent does not exist or
        cannot be written to.
    """
    if not overwrite or not path.is_dir():
        check_out(path, overwrite=overwrite)
    if path.exists() and not (path / "run.json").is_file():
        raise ba.errors.DataFileError(f"{path} was not written by a run and is not replaced: choose another --out")
    with write_whole(path.absolute()) as unfinished:
        unfinished.mkdir()
        yield unfinished


def check_out(path: Path | None, *, overwrite: bool) -> None:
    """Raise a DataFileError if a file is given that must not be overwritten, that is a folder, or has no folder."""
    if path is None:
        return
    if path.exists() and not overwrite:
        raise ba.errors.DataFileError(f"{path} exists: choose another --out, or --overwrite")
    if path.is_dir():
        raise ba.errors.DataFileError(f"{path} is a folder: name a file")
    if not path.absolute().parent.is_dir():
        raise ba.errors.DataFileError(f"there is no folder {path.absolute().parent} to write {path.name} into")


def reading_of(folder: Path) -> dict[str, Any]:
    """Return the options that the data of a fit were read with, from its run.json; empty without one."""
    path = folder / "run.json"
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")).get("reading", {}))
    except (ValueError, AttributeError) as error:
        raise ba.errors.DataFileError(
            f"{path} is not what `bayesanno fit` wrote ({name_error(error)}): fit again"
        ) from None


def show_status(message: str) -> AbstractContextManager[None]:
    """Show on a terminal what takes so long, for as long as the block takes."""
    return status(message, show=sys.stderr.isatty())


def print_result(said: Iterable[str], out: Path, files: Iterable[str]) -> None:
    """Print a summary of the results, and the names of the files."""
    for line in [*said, *(str(out / name) for name in files)]:
        typer.echo(line)


def write_if_asked(table: pd.DataFrame, out: Path | None) -> None:
    """Write a table to the file that --out names, if it is given, and print its path."""
    if out is not None:
        write_table(table, out)
        typer.echo(out)


def print_findings(found: Sequence[Finding], where: str, *, lines: int = MOST_FINDINGS, **known: str) -> None:
    """Print findings to stderr, the most serious first; beyond a few `lines` say `where` the others are.

    `known` has what words in capitals stand for in remedies, such as DIR.
    """
    most = len(found) if len(found) <= lines else lines - 1
    for one in found[:most]:
        text = re.sub(r"(?<= )[A-Z]{3,}(?= )", lambda word: known.get(word[0], word[0]), one.text)
        typer.echo(f"{one.level}: {text}", err=True)
    if len(found) > most:
        typer.echo(f"{counted(len(found) - most, 'more finding')}: {where}", err=True)


def finish_fit(view: FitView, run: Mapping[str, Any], out: Path, *, report: bool, data: str | None = None) -> None:
    """Print the results of a fit and its files, and write its report: the fit is safe by now, even if that fails.

    Remedies have `data`, what was typed to read the data, in the place of DATA.
    """
    print_result(describe_result(run), out, ())
    known = {"DIR": quote(str(out)), "MODEL": view.model.name}
    known |= {} if data is None else {"DATA": data}
    doubts = [] if isinstance(view.named_data, AnnotationTotals) else doubt_data(view.named_data)
    if codes := enumerated(list(dict.fromkeys(one.partition(":")[0] for one in doubts))):
        typer.echo(f"first: correct the names that were warned of ({codes}), and fit again before you judge", err=True)
    print_findings(
        read_findings(view),
        f"see {out / ('report.html' if report else 'run.json')}",
        lines=MOST_FINDINGS - bool(codes),
        **known,
    )
    print_result((), out, run["files"])
    if "ranking.csv" in run["files"]:
        table = ba.ranking_table(view).round({"elo_mean": 0}).astype({"elo_mean": int})
        ends = find_bounds(table, "rank")[:2]
        shown = ["system", "n_answers", "elo_mean", "share_won_mean", *ends, "p_best"]
        typer.echo(show_table(table[[*(name for name in table if name == SUBSET), *shown]]))
    if report:
        with show_status("writing the report"):
            path = ba.write_report(view, out / "report.html", checks=False)
        typer.echo(path)


def write_fit(
    fit: Fit,
    folder: Path,
    *,
    began: float,
    coverage: float | None = None,
    labels: WrittenLabels | None = None,
    grades: bool = False,
    bio: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write a fit's files to a folder and return what run.json holds.

    Numbers in the tables have six significant digits; posterior.nc has all. A fit that holds no items has its `labels`
    in the folder already. The table of grades is for models of grades, and for others if `grades` asks for it; that of
    BIO tags is written if `bio` asks for it. `reading` has the options that the data were read with.
    """
    view = view_of(fit)  # so that data, model and posterior are read once for all tables
    ba.save(view.tree, folder / "posterior.nc", overwrite=True)
    model = view.model
    gives = {latent.kind for latent in model.latents(view.named_data)}
    has_states = bool(gives & {"labels", "types"})
    of_grades = grades or (view.model.of_grades and view.named_data.labels_are_ordered)
    possible: dict[str, tuple[bool, Callable[[FitView], pd.DataFrame]]] = {
        "labels.csv": (has_states and labels is None, lambda view: ba.label_table(view, coverage=coverage)),
        "values.csv": ("values" in gives, ba.value_table),
        "reliability.csv": ("values" in gives, ba.reliability_table),
        "annotators.csv": (model.competence is not None, ba.annotator_table),
        "population.csv": (view.has_population, ba.population_table),
        "difficulty.csv": (view.derives("difficulty"), ba.difficulty_table),
        "grades.csv": (of_grades, ba.grade_table),
        "tags.csv": (bio, ba.tag_table),
        "summary.csv": (True, ba.summary),
        "ranking.csv": (has_pairs(view), ba.ranking_table),
        "coefficients.csv": (has_effects(view), ba.coefficient_table),
        "recalibration.csv": (view.is_recalibrated, ba.recalibration_table),
    }
    tables = {name: tabulate(view) for name, (is_asked, tabulate) in possible.items() if is_asked}
    run = describe_run(view, total=time.perf_counter() - began, labels=labels) | {"reading": dict(reading or {})}
    there = ["posterior.nc"] if labels is None else ["posterior.nc", "labels"]
    run["files"] = write_results(folder, tables, {}, run, there=there)
    return run


def write_results(
    folder: Path,
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Figure],
    run: Mapping[str, Any],
    *,
    there: Sequence[str] = (),
) -> list[str]:
    """Write the results of a command, and run.json; return the names of the files, those already `there` first."""
    for name, table in tables.items():
        table.to_csv(folder / name, index=False, float_format=SIX_DIGITS, lineterminator="\n")
    if figures:
        from bayesanno.report.plots.style import write_png

        for name, figure in figures.items():
            write_png(figure, folder / name)
    files = [*there, *tables, *figures, "run.json"]
    text = json.dumps({**run, "files": files}, indent=2)
    (folder / "run.json").write_text(f"{text}\n", encoding="utf-8", newline="\n")
    return files


def show_table(table: pd.DataFrame) -> str:
    """Return a table as text for the screen: three decimals, or one in a column of large numbers; "" for no number."""
    shown = table.copy()
    for name, column in table.select_dtypes("float").items():
        digits = 1 if column.abs().max() >= LARGE else 3
        shown[name] = column.map(f"{{:.{digits}f}}".format, na_action="ignore")
    return str(shown.to_string(index=False, na_rep=""))


def describe_run(fit: Fit, *, total: float, labels: WrittenLabels | None = None) -> dict[str, Any]:
    """Return the settings and results of a run, as JSON can hold them."""
    view = view_of(fit)
    attrs = view.tree.attrs
    seed = attrs["random_seed"]
    learnt = {
        dimension: {name: value for name, value in about.items() if name != "items"}  # which may be very many
        for dimension, about in about_recalibration(view).items()
    }
    adjusted = json.loads(attrs.get(ADJUSTMENT, "{}"))
    scored = score(view) if labels is None else {} if labels.accuracy is None else {"accuracy": labels.accuracy}
    return {
        "model": attrs["model"],
        "fields": json.loads(attrs["fields"]),
        "method": attrs["method"],
        "nuts_sampler": attrs.get("nuts_sampler"),
        "settings": json.loads(attrs["settings"]),
        "seed": seed if isinstance(seed, str) else int(seed),  # of fits put together: one text; from a file, of NumPy's
        "versions": json.loads(attrs["versions"]),
        "data": view.named_data.about() | {"hash": attrs["data_hash"]},
        "seconds": {"compile": attrs["seconds_compile"], "sample": attrs["seconds_sample"], "total": total},
        "diagnostics": view.diagnostics,
        "findings": [one.to_record() for one in read_findings(view)],
        **({"adjustment": adjusted.get("", adjusted)} if adjusted else {}),
        **({"recalibration": learnt.get("", learnt)} if learnt else {}),
        **scored,
        **(_score_votes(view) if scored and labels is None else {}),
    }


def describe_study(command: str, data: Data, began: float, **more: Any) -> dict[str, Any]:
    """Return the settings of a command that writes no fit, as JSON can hold them."""
    seconds = {"total": time.perf_counter() - began}
    return {"command": command, **more, "data": data.about() | {"hash": data.hash}, "seconds": seconds}


def _score_votes(view: FitView) -> dict[str, Any]:
    """Return how often a majority vote is right, and which annotators agree most and least with the true labels."""
    parts = {part.dimension: part.data for part in parts_of(view) if part.kind == "labels" and part.gold}
    vote = {name: float(np.nanmean(vote_right(data))) for name, data in parts.items()}
    found: dict[str, Any] = {"vote_accuracy": vote.get("", vote)}
    if "" in parts and parts[""].annotators != (ANYONE,):
        data, (n, share) = parts[""], agree_with_gold(parts[""]).values()
        among = np.flatnonzero(n >= min(FEW_GOLD, n.max()))
        for name, at in (("most", among[share[among].argmax()]), ("least", among[share[among].argmin()])):
            found[f"{name}_agreement_with_gold"] = {"annotator": data.annotators[at], "share": float(share[at])}
    return found


def describe_result(run: Mapping[str, Any]) -> Iterator[str]:
    """Return the results of a run in words: accuracy, diagnostics, and how long it took."""
    found, seconds, what = run["diagnostics"], run["seconds"], "sampling"
    yield from describe_accuracy(run)
    yield from _describe_recalibration(run.get("recalibration", {}))
    if found["min_ess_bulk"] is not None:
        rhat = "one chain, so no R-hat" if found["max_rhat"] is None else f"max R-hat {found['max_rhat']:.4g}"
        ess = f"min ESS {found['min_ess_bulk']:.0f} (bulk) and {found['min_ess_tail']:.0f} (tail)"
        yield f"{rhat}, {ess}, {found['divergences']} divergences"
    if found.get("pareto_k") is not None:
        yield f"Pareto k {found['pareto_k']:.2f}" + (f" after {found['steps']} steps" if "steps" in found else "")
    if "climb" in found:
        yield _describe_climb(found["climb"])
        what = found["climb"]["method"]
    listed = [Finding.from_record(record) for record in run["findings"]]
    if not {one.code for one in listed}.intersection((*MISFIT, *WRONG)):
        if found.get("misfit"):
            yield "the answers are as the model predicts them"
        if "label_names" in run["data"] and "gold" in found and not found["gold"]:
            yield CANNOT_SEE
    yield f"{seconds['total']:.0f} s, of which {seconds['sample']:.0f} s {what}; seed {run['seed']}"


def describe_accuracy(run: Mapping[str, Any]) -> Iterator[str]:
    """Return accuracy against gold in words: one line, or one for each of several dimensions; none without gold."""
    several = isinstance(run.get("accuracy"), dict)
    for dimension in run["accuracy"] if several else [""] if "accuracy" in run else []:
        own = {name: run[name][dimension] if several else run[name] for name in ("accuracy", *BESIDE) if name in run}
        n, where = (run["data"]["gold"][dimension], f" in {dimension}") if several else (run["data"]["gold"], "")
        first = f"accuracy against gold of {counted(n, 'item')}{where} {percent(own.pop('accuracy'))}"
        yield "; ".join([first, *(f"{BESIDE[name]} {percent(share)}" for name, share in own.items())])
    if "most_agreement_with_gold" in run:
        most, least = (run[f"{which}_agreement_with_gold"] for which in ("most", "least"))
        yield (
            f"agreement with gold: {most['annotator']} most often, {percent(most['share'])}; {least['annotator']} "
            f"least often, {percent(least['share'])}"
        )


def _describe_recalibration(found: Mapping[str, Any]) -> Iterator[str]:
    """Return the temperature of a recalibration in words, a line for each dimension."""
    each = {"": found} if "temperature" in found else {f" in {name}": about for name, about in found.items()}
    for where, about in each.items():
        lower, upper, _ = find_bounds(about["temperature"])
        mean, low, high = (about["temperature"][name] for name in ("mean", lower, upper))
        yield (
            f"temperature{where} {mean:.3g} ({low:.3g} to {high:.3g}), from {counted(about['n_known'], 'true label')}; "
            f"their log score was {about['log_score_before']:.3g} before, is {about['log_score']:.3g} now (each left "
            f"out), and would be {about['log_score_shares']:.3g} by the frequencies of labels"
        )


def _describe_climb(found: Mapping[str, Any]) -> str:
    starts = f"{found['agreed']} of {found['restarts']} starts agree" if found["restarts"] > 1 else "one start"
    what = f"ELBO {found['elbo']:.1f}" if "elbo" in found else f"log likelihood {found['log_likelihood']:.1f}"
    return f"{what} after {found['steps']} steps; {starts}"


def write_simulation(
    model: ba.AnnotationModel, data: Data, truth: xr.Dataset, path: Path, *, seed: int | None
) -> list[Path]:
    """Write simulated annotations (CSV with gold) or counts, and the parameters (JSON) next to them.

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
    beside = path.with_suffix(".json")
    with write_whole(beside) as unfinished:
        unfinished.write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8", newline="\n")
        write_table(data.to_frame(), path)
    return [path, beside]
