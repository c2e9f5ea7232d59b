"""What `bayesanno noise` does: the noise level from counts or from a table, as text or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from bayesanno.agreement.noise import NoiseBound, bound_noise, bound_noise_of
from bayesanno.cli import options as opt
from bayesanno.ground.errors import DataError
from bayesanno.ground.validate import check_share


@opt.reads_data(without=opt.OF_MODELS, several=False)
def noise(
    data: Annotated[str | None, typer.Argument(metavar="DATA", help=f"{opt.DATA_HELP} Or give the counts.")] = None,
    items: Annotated[int | None, opt.value("N", "Number of items.")] = None,
    disagreements: Annotated[int | None, opt.value("D", "Number of items on which annotators disagree.")] = None,
    chance: Annotated[
        float | None, opt.value("P", "Chance that annotators agree on a hard item; estimated from DATA if not given.")
    ] = None,
    ci_prob: Annotated[float, typer.Option(help="The probability with which the bounds hold.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    *,
    options: opt.DataOptions,
) -> None:
    """Bound how many unanimous items are unanimous by chance.

    The numbers come from DATA, or from --items, --disagreements and --chance.
    """
    counts = {"--items": items, "--disagreements": disagreements}
    given = [option for option, value in counts.items() if value is not None]
    if data is not None and given:
        raise DataError(f"DATA and {' and '.join(given)} are both given: the counts come from one of the two")
    if data is None and not given:
        raise DataError("no data: give DATA, or --items, --disagreements and --chance")
    check_share("--ci-prob", ci_prob)
    if data is not None:
        from bayesanno.io.annotations import annotations_from
        from bayesanno.io.sources import open_source

        answers = annotations_from(*open_source(data, options.of_one_column))
        level = bound_noise_of(answers, ci_prob=ci_prob, chance=chance)
        if left_out := answers.n_items - level.n:
            what = "annotations that are not unsure" if options.unsure else "annotations"
            typer.echo(f"items with fewer than two {what}, left out: {left_out}", err=True)
    elif items is None or disagreements is None or chance is None:
        missing = [option for option, value in {**counts, "--chance": chance}.items() if value is None]
        raise DataError(f"without DATA give {' and '.join(missing)} as well")
    else:
        level = bound_noise(items, disagreements, chance, ci_prob=ci_prob)
    typer.echo(format_noise(level, as_json=as_json))


def format_noise(level: NoiseBound, *, as_json: bool) -> str:
    """Return a noise level as lines of text, or as a JSON object of its fields."""
    if as_json:
        return json.dumps(asdict(level), indent=2)
    rows = {
        "items": str(level.n),
        "disagreed on": str(level.d),
        "chance that a hard item is agreed on": f"{level.p:.4g}",
        "probability of the bounds": f"{level.ci_prob:g}",
        "hard items, at most": str(level.t0),
        "noise among the agreed items, at most": (
            "no item is agreed on"
            if level.gamma is None
            else f"{level.n_noise} of {level.n_agreed} ({100 * level.gamma:.2f}%)"
        ),
    }
    if level.kappa is not None:
        rows["kappa"] = f"{level.kappa:.4f}"
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())
