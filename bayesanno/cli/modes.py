"""What `bayesanno modes` does, and what it says of the modes that were found, in words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayesanno.cli.files import check_out
from bayesanno.cli.options import (
    DataOptions,
    DataSource,
    ModelName,
    Overwrite,
    Seed,
    Settings,
    parse_settings,
    reads_data,
)
from bayesanno.ground.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import pandas as pd

MOST_ROWS = 10  # modes that are shown,
MOST_NAMED = 3  # and parameters on the boundary, of each
CLOSE = 5.0  # nats between modes that chains may both be in
WHAT = {"ml": "likelihood", "map": "posterior density"}


@reads_data(without=("gold", "gold_file"))
def modes(
    model: ModelName,
    data: DataSource,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Where to write all modes and their parameters.")
    ] = None,
    settings: Settings = None,
    objective: Annotated[str, typer.Option(help="ml (the likelihood) or map (the posterior density).")] = "ml",
    starts: Annotated[int, typer.Option(help="How many points to start from.")] = 200,
    seed: Seed = None,
    *,
    options: DataOptions,
    overwrite: Overwrite = False,
) -> None:
    """Find the modes of the likelihood of MODEL given DATA, or of its posterior, and say what they mean."""
    from bayesanno.cli.for_model import read_for
    from bayesanno.inference.find_modes.find import check_search, find_modes
    from bayesanno.io.write import write_table
    from bayesanno.modeling.registry import get_model

    chosen = get_model(model, parse_settings(settings))
    check_search(objective, starts, seed)
    if out is not None:
        check_out(out, overwrite=overwrite)
    answers, described = read_for(chosen, data, options)
    typer.echo(f"{chosen.name}: {described}", err=True)
    found = find_modes(
        chosen,
        answers,
        objective=objective,  # type: ignore[arg-type]  # it has been checked
        starts=starts,
        random_seed=seed,
        progressbar=sys.stderr.isatty(),
    )
    typer.echo(format_modes(found))
    if out is not None:
        write_table(found.reset_index(), out)
        typer.echo(out)


def format_modes(modes: pd.DataFrame) -> str:
    """Return what `find_modes` found as lines of text: a table, and what it means.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesanno.cli.modes import format_modes
    >>> columns = {"objective": [-10.0, -12.5], "visits": [7, 3], "boundary": ["", "accuracy[j] = 1"]}
    >>> columns |= {"maximum": [True, True], "flat": [0, 0], "same_as": pd.array([None, None], dtype="Int64")}
    >>> modes = pd.DataFrame(columns, index=pd.RangeIndex(1, 3, name="mode"))
    >>> modes.attrs = {"model": "model_a", "objective": "ml", "starts": 10, "random_seed": 1, "unbounded": {}}
    >>> modes.attrs |= {"lost": 0, "n_modes": 2, "n_distinct": 2}
    >>> print(format_modes(modes))
    model_a: 2 modes of the likelihood, from 10 starts, seed 1
    mode   log likelihood    below  visits  boundary
       1       -10.000000                7
       2       -12.500000     2.50       3  accuracy[j] = 1
    mode 1 is the best by 2.50 nats: chains may be in either; a fit says how much mass each has
    on the boundary is 1 of 2 modes: the best value of a parameter is at the end of its range, where a posterior mean \
never is
    """
    about = modes.attrs
    what = WHAT[about["objective"]]
    count = counted(about["n_modes"], "mode")
    if about["n_distinct"] < about["n_modes"]:
        count += f" ({about['n_distinct']} but for names)"
    lines = [f"{about['model']}: {count} of the {what}, from {counted(about['starts'], 'start')}, "]
    lines[0] += f"seed {about['random_seed']}"
    if len(modes):
        lines += [_header(what), *_rows(modes), *_rest(modes), *_explain_best(modes), *_explain_same(modes)]
        lines += [*_explain_boundary(modes), *_explain_flat(modes)]
    return "\n".join([*lines, *_explain_unbounded(modes), *_explain_search(modes)])


def _header(what: str) -> str:
    return f"mode {'log ' + what:>{_width(what)}}    below  visits  boundary"


def _width(what: str) -> int:
    return max(16, len(what) + 4)


def _rows(modes: pd.DataFrame) -> list[str]:
    shown = modes.iloc[:MOST_ROWS]
    width, best = _width(WHAT[modes.attrs["objective"]]), float(modes["objective"].iloc[0])
    rows = []
    for mode, row in shown.iterrows():
        below = f"{best - row['objective']:.2f}" if mode > 1 else ""  # type: ignore[operator]
        text = f"{mode:>4} {row['objective']:>{width}.6f} {below:>8} {row['visits']:>7}  {_shorten(row['boundary'])}"
        rows.append(text.rstrip())
    return rows


def _rest(modes: pd.DataFrame) -> list[str]:
    more = len(modes) - MOST_ROWS
    return [f"and {more} more, down to {float(modes['objective'].iloc[-1]):.6f}"] if more > 0 else []


def _shorten(boundary: str) -> str:
    parts = boundary.split("; ")
    more = len(parts) - MOST_NAMED
    return "; ".join(parts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _explain_best(modes: pd.DataFrame) -> list[str]:
    distinct = modes[modes["same_as"].isna()]
    if len(distinct) < 2:
        return ["all that was found is one explanation of the data"] if modes.attrs["starts"] > 1 else []
    lead = float(distinct["objective"].iloc[0] - distinct["objective"].iloc[1])
    if lead < CLOSE:
        then = "chains may be in either; a fit says how much mass each has"
    else:
        then = "a chain that ends in another one explains the data far worse: leave it out"
    return [f"mode 1 is the best by {lead:.2f} nats: {then}"]


def _explain_same(modes: pd.DataFrame) -> list[str]:
    same = modes["same_as"].dropna()
    if same.empty:
        return []
    groups = [f"{_listed([first, *same.index[same == first]])}" for first in sorted(set(same))]
    return [
        f"modes {'; '.join(groups)} give every item the same likelihood, with classes (or right and wrong) exchanged: "
        "the data do not tell them apart, only a prior does"
    ]


def _explain_boundary(modes: pd.DataFrame) -> list[str]:
    number = int((modes["boundary"] != "").sum())
    if not number:
        return []
    verb = "is" if number == 1 else "are"
    return [
        f"on the boundary {verb} {number} of {counted(len(modes), 'mode')}: the best value of a parameter is at the "
        "end of its range, where a posterior mean never is"
    ]


def _explain_flat(modes: pd.DataFrame) -> list[str]:
    flat = modes["flat"][modes["flat"] > 0]
    if flat.empty:
        return []
    return [
        f"flat in {_span(flat.to_numpy())} {_are('mode', list(flat.index))}: the values given are one choice of many, "
        "as nothing there tells them apart"
    ]


def _explain_unbounded(modes: pd.DataFrame) -> list[str]:
    unbounded = list(modes.attrs["unbounded"])
    if not unbounded:
        return []
    more = len(unbounded) - MOST_NAMED
    names = ", ".join(unbounded[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    what = WHAT[modes.attrs["objective"]]
    remedy = {
        "map": "a prior with a concentration below 1 is infinite there; fit the model, which takes means, or set that "
        "to 1 or more",
        "ml": "it has no greatest value; fit the model, whose prior keeps away from there",
    }[modes.attrs["objective"]]
    return [f"the {what} grows without bound towards {names}: {remedy}"]


def _explain_search(modes: pd.DataFrame) -> list[str]:
    lines = []
    if len(restless := modes.index[~modes["maximum"].astype(bool)]):
        who = f"no maximum by slopes and curvature {_are('mode', list(restless))}"
        lines.append(f"{who}: the search did not end there")
    once = int((modes["visits"] == 1).sum())
    if once > modes.attrs["starts"] / 2 and modes.attrs["starts"] > 1:
        lines.append("most starts led to a mode of their own: there are many more, and the best was perhaps not found")
    elif once and modes.attrs["starts"] > 1:
        lines.append(f"{counted(once, 'mode')} had a single visit: more starts may find others")
    if modes.attrs["lost"]:
        lines.append(f"{counted(modes.attrs['lost'], 'start')} led nowhere: no value there is finite")
    return lines


def _span(numbers: np.ndarray) -> str:
    least, most = int(numbers.min()), int(numbers.max())
    return counted(most, "direction") if least == most else f"{least} to {most} directions"


def _are(noun: str, numbers: Sequence[object]) -> str:
    return f"is {noun} {numbers[0]}" if len(numbers) == 1 else f"are {noun}s {_listed(numbers)}"


def _listed(numbers: Iterable[object]) -> str:
    names = [str(number) for number in numbers]
    if len(names) > MOST_ROWS:
        return f"{', '.join(names[:MOST_ROWS])} and {len(names) - MOST_ROWS} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
