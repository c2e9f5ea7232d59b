"""What `bayesanno simulate` does: simulated answers, and the true parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bayesanno as ba
from bayesanno.cli import options as opt
from bayesanno.cli.files import check_out, write_simulation
from bayesanno.cli.for_model import design_for
from bayesanno.ground.errors import DataFileError
from bayesanno.ground.validate import known_seed


def simulate(
    model: opt.ModelName,
    out: Annotated[Path, opt.value("FILE.csv", "The answers; FILE.json has the true parameters.")],
    items: Annotated[int, typer.Option(help="Number of items.")] = 300,
    annotators: Annotated[int, typer.Option(help="Number of annotators; counts have none.")] = 20,
    per_item: Annotated[str, opt.value("N|N-M", "Annotations per item, by different annotators.")] = "5",
    labels: Annotated[str, opt.value("K|A,B,...", "Number of labels, or their names; counts have none.")] = "3",
    unsure: opt.UnsureLabels = None,
    dimensions: Annotated[
        str, opt.value("A,B,...", "Names of the dimensions, for models of several.")
    ] = "first,second",
    seed: opt.Seed = None,
    settings: opt.Settings = None,
    overwrite: opt.Overwrite = False,
) -> None:
    """Simulate answers from the prior of MODEL.

    The answers are written as CSV with the true labels as gold, and the parameters as JSON.
    """
    chosen = ba.get_model(model, opt.parse_settings(settings))
    beside = out.with_suffix(".json")
    if beside == out:
        raise DataFileError(f"{out} is where the parameters go: give a name in .csv")
    for path in (out, beside):
        check_out(path, overwrite=overwrite)
    seed = known_seed(seed)
    design = design_for(
        chosen,
        items=items,
        annotators=annotators,
        per_item=opt.parse_range(per_item),
        labels=labels,
        dimensions=dimensions,
        unsure=tuple(unsure or ()),
        random_seed=seed,
    )
    data, truth = ba.simulate(chosen, design, random_seed=seed)
    written = write_simulation(chosen, data, truth, out, seed=seed)
    for path in written:
        typer.echo(path)
