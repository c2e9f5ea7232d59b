"""How was it made? The data, the model and its priors, the seed and the versions: enough to make it again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from bayesanno.fits.view import FitView
from bayesanno.ground.fields import as_typed
from bayesanno.modeling.class_prior import class_prior_of
from bayesanno.report.blocks import Card, Heading, PageBlock, SmallTable


def describe_origin(view: FitView) -> Iterator[PageBlock]:
    """Describe the data, the model and the settings of a fit, and show the model's card."""
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
    yield SmallTable(rows=list(facts.items()))
    if fields := view.model.to_fields():
        yield Heading("Priors and options")
        yield SmallTable(rows=[(name, as_typed(getattr(view.model, name))) for name in fields])
    of_class = class_prior_of(view.model)
    for one in (view.model, *(of_class.terms if of_class is not None else ())):
        if card := sys.modules[type(one).__module__].__doc__:
            yield Card(f"The card of {one.name}: process, formulas, priors, when to use it", card.strip())
