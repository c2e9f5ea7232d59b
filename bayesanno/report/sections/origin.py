"""How was it made? The data, the model and its priors, the seed and the versions: enough to make it again."""

from __future__ import annotations

import json
import sys

from bayesanno.fits.view import FitView
from bayesanno.ground.fields import as_typed
from bayesanno.report.blocks import Block, Card, Heading, Table


def describe_origin(view: FitView) -> list[Block]:
    """Return what a fit was made from, how, and the model's card."""
    attrs = view.tree.attrs
    settings = {name: value for name, value in json.loads(attrs["settings"]).items() if value is not None}
    facts = {
        "data": view.named_data.describe(),
        "hash of the data": str(attrs["data_hash"]),
        "model": view.model.name,
        "method": attrs["method"] + (f", {attrs['nuts_sampler']}" if "nuts_sampler" in attrs else ""),
        "settings": ", ".join(f"{name}={value}" for name, value in settings.items()),
        "seed": str(attrs["random_seed"]),
        "versions": ", ".join(f"{name} {value}" for name, value in json.loads(attrs["versions"]).items()),
    }
    fields = [[name, as_typed(value)] for name, value in view.model.to_fields().items()]
    blocks: list[Block] = [Table(rows=list(facts.items()))]
    if fields:
        blocks += [Heading("Priors and options"), Table(rows=fields)]
    card = sys.modules[type(view.model).__module__].__doc__
    if card:
        blocks.append(
            Card(caption=f"The card of {view.model.name}: process, formulas, priors, when to use it", text=card.strip())
        )
    return blocks
