"""Tables of how a fit was made: the modes of its posterior, and the cards of its model."""

from __future__ import annotations

import sys

from bayesanno._core.lazy import pd
from bayesanno.fits.view import FitView
from bayesanno.inference.diagnosis.modes import modes_found
from bayesanno.modeling.class_prior import class_prior_of


def list_modes(view: FitView) -> pd.DataFrame | None:
    """Return the modes of the posterior; None if there is one."""
    modes = modes_found(view.diagnostics.get("modes", {}))
    if len(modes) < 2:
        return None
    rows = {
        "mode": range(1, len(modes) + 1),
        "probability": [mode["probability"] for mode in modes],
        "nats below the highest": [mode["nats"] for mode in modes],
        "chains in it": [", ".join(map(str, mode["chains"])) or "none" for mode in modes],
        "items labelled differently": [str(mode.get("items_differ", "")) for mode in modes],
    }
    return pd.DataFrame(rows).astype({"probability": float})


def list_cards(view: FitView) -> dict[str, str]:
    """Return the cards of the model and of the terms of its class prior, by name."""
    of_class = class_prior_of(view.model)
    terms = of_class.terms if of_class is not None else ()
    cards = {one.name: sys.modules[type(one).__module__].__doc__ for one in (view.model, *terms)}
    return {name: card.strip() for name, card in cards.items() if card}
