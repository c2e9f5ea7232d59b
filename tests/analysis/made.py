"""Fits of any model that nobody sampled: their draws are of the prior, and all else is computed as of other draws."""

import numpy as np

from bayesanno.simulation.quantities import draw_prior
from tests.inference.draws import make_fit
from tests.models.contract import as_posterior


def from_prior(model, data, n=80, change=None, *, check=False):
    """A fit of so many draws in two chains, of which `change` may set some."""
    drawn = draw_prior(model, data, n, np.random.default_rng(1))
    if change:
        change(drawn)
    draws = [{name: values.values[0, draw] for name, values in drawn.items()} for draw in range(n)]
    return make_fit(model, data, as_posterior(model.build(data), draws, 2), check=check)
