"""What `bayesanno modes` does, and its explanation of the modes found."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from bayesanno.cli import options as opt
from bayesanno.cli.files import check_out, write_if_asked
from bayesanno.ground.lazy import pd
from bayesanno.ground.wording import counted

MOST_ROWS = 10  # modes that are shown,
MOST_NAMED = 3  # and parameters on the boundary, of each
CLOSE = 5.0  # nats between modes that chains may both be in
WHAT = {"ml": "likelihood", "map": "posterior density"}
UNBOUNDED = {
    "map": "a prior with a concentration below 1 is infinite there; fit the model instead, or set the concentration to "
    "1 or more",
    "ml": "it has no maximum; fit the model, whose prior excludes this",
}


@opt.reads_data(without=("gold", "gold_file"))
def modes(
    model: opt.ModelName,
    data: opt.DataSource,
    out: Path | None = opt.option(None, "Where to write all modes and their parameters.", "FILE.csv"),
    settings: opt.Settings = None,
    objective: str = opt.option("ml", "ml (the likelihood) or map (the posterior density)."),
    starts: int = opt.option(200, "How many points to start from."),
    seed: opt.Seed = None,
    *,
    options: opt.DataOptions,
    overwrite: opt.Overwrite = False,
) -> None:
    """Find the modes of MODEL given DATA, and explain them.

    They are modes of the likelihood, or of the posterior.
    """
    from bayesanno.cli.for_model import read_for
    from bayesanno.inference.modes.find import check_search, find_modes
    from bayesanno.modeling.registry import get_model

    chosen = get_model(model, opt.parse_settings(settings))
    check_search(objective, starts, seed)
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
    write_if_asked(found.reset_index(), out)


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
    1 of 2 modes is on the boundary: the best value of a parameter is at the end of its range, where a posterior mean \
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
        lines += [*_rows(modes, what), *_explain_modes(modes)]
    return "\n".join([*lines, *_explain_search(modes, what)])


def _rows(modes: pd.DataFrame, what: str) -> Iterator[str]:
    width, best = max(16, len(what) + 4), float(modes["objective"].iloc[0])
    yield f"mode {'log ' + what:>{width}}    below  visits  boundary"
    for mode, row in modes.iloc[:MOST_ROWS].iterrows():
        below = f"{best - row['objective']:.2f}" if mode > 1 else ""  # type: ignore[operator]
        boundary = _shorten(row["boundary"].split("; "), "; ")
        yield f"{mode:>4} {row['objective']:>{width}.6f} {below:>8} {row['visits']:>7}  {boundary}".rstrip()
    if len(modes) > MOST_ROWS:
        yield f"and {len(modes) - MOST_ROWS} more, down to {float(modes['objective'].iloc[-1]):.6f}"


def _shorten(names: Sequence[str], between: str) -> str:
    more = len(names) - MOST_NAMED
    return between.join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _explain_modes(modes: pd.DataFrame) -> Iterator[str]:
    """Explain the modes, by their heights and places."""
    distinct, same = modes[modes["same_as"].isna()]["objective"].tolist(), modes["same_as"].dropna()
    if len(distinct) > 1:
        lead = distinct[0] - distinct[1]
        then = "a chain that ends in another one explains the data far worse: leave it out"
        if lead < CLOSE:
            then = "chains may be in either; a fit says how much mass each has"
        yield f"mode 1 is the best by {lead:.2f} nats: {then}"
    elif modes.attrs["starts"] > 1:
        yield "the search found one explanation of the data"
    if len(same):
        groups = [_listed([first, *same.index[same == first]]) for first in sorted(set(same))]
        yield (
            f"modes {'; '.join(groups)} give every item the same likelihood, with classes (or right and wrong) "
            "exchanged: only a prior can distinguish them"
        )
    if number := int((modes["boundary"] != "").sum()):
        yield (
            f"{number} of {counted(len(modes), 'mode')} {'is' if number == 1 else 'are'} on the boundary: the best "
            "value of a parameter is at the end of its range, where a posterior mean never is"
        )
    flat = modes["flat"][modes["flat"] > 0]
    if len(flat):
        least, most = int(flat.min()), int(flat.max())
        span = counted(most, "direction") if least == most else f"{least} to {most} directions"
        yield (
            f"{_are('mode', list(flat.index))} flat in {span}: many values are equally good, and those given are one "
            "choice"
        )


def _explain_search(modes: pd.DataFrame, what: str) -> Iterator[str]:
    """Say where the search did not end, and whether there may be more modes."""
    about = modes.attrs
    if about["unbounded"]:
        names = _shorten(list(about["unbounded"]), ", ")
        yield f"the {what} grows without bound towards {names}: {UNBOUNDED[about['objective']]}"
    if len(restless := modes.index[~modes["maximum"].astype(bool)]):
        yield f"{_are('mode', list(restless))} no maximum by slopes and curvature: the search did not end there"
    once = int((modes["visits"] == 1).sum())
    if once > about["starts"] / 2 and about["starts"] > 1:
        yield "most starts led to a mode of their own: there are many more modes, and the best may not be among these"
    elif once and about["starts"] > 1:
        yield f"{counted(once, 'mode')} had a single visit: more starts may find others"
    if about["lost"]:
        yield f"{counted(about['lost'], 'start')} failed: the objective is not finite there"


def _are(noun: str, numbers: Sequence[object]) -> str:
    return f"{noun} {numbers[0]} is" if len(numbers) == 1 else f"{noun}s {_listed(numbers)} are"


def _listed(numbers: Sequence[object]) -> str:
    names = [str(number) for number in numbers]
    if len(names) > MOST_ROWS:
        return f"{', '.join(names[:MOST_ROWS])} and {len(names) - MOST_ROWS} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
