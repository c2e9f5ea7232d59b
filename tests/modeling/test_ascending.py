"""How samplers see ascending values: there and back, and the change of variable."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy.stats import dirichlet

from bayesanno.modeling.item_types import declare_ascending

PYTHON = Mode(linker="py", optimizer="fast_run")
PRIOR = (0.7, 3.0)


def graph_of(n_types, top):
    with pm.Model(coords={"item_type": range(n_types)}) as graph:
        declare_ascending("rate", pt.as_tensor(PRIOR), n_types, top=top)
    return graph, graph.rvs_to_transforms[graph["rate"]]


@pytest.mark.parametrize("top", [1.0, 10.0])
@pytest.mark.parametrize("n_types", [1, 2, 4])
def test_density_is_that_of_the_gaps_after_the_change_of_variable(n_types, top, rng):
    graph, transform = graph_of(n_types, top)
    logp = graph.compile_logp(mode=PYTHON)
    z, symbol = 2 * rng.normal(size=n_types), pt.vector()
    there = transform.backward(symbol)
    slopes = pt.stack([pt.grad(there[t], symbol) for t in range(n_types)]).eval({symbol: z}, mode=PYTHON)
    values = there.eval({symbol: z}, mode=PYTHON)
    assert (np.diff([0, *values, top]) > 0).all()
    np.testing.assert_allclose(transform.forward(pt.as_tensor(values)).eval(mode=PYTHON), z, rtol=1e-9, atol=1e-9)
    concentration = [PRIOR[0], *[PRIOR[1]] * (n_types - 1), PRIOR[0]]
    expected = dirichlet(concentration).logpdf(np.diff([0, *values, top]) / top) - n_types * np.log(top)
    expected += np.linalg.slogdet(slopes)[1]
    np.testing.assert_allclose(logp({"rate_ascending__": z}), expected, rtol=1e-9)
