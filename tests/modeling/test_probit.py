"""A Beta on the probit scale: the same prior, as far out as doubles go."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy.special import betaln, log_ndtr, ndtr
from scipy.stats import norm

from bayesanno.modeling.ops.variables import beta_by_probit

PYTHON = Mode(linker="py", optimizer="fast_run")
PRIORS = [(0.5, 0.5), (2.0, 1.0), (0.01, 0.01), (200.0, 1.0), (1.0, 0.5), (0.5, 30.0)]
FAR = np.linspace(-40, 40, 321)  # a share of 1e-15 is at -7.9


def graph_of(prior, size):
    with pm.Model(coords={"annotator": range(size)}) as graph:
        beta_by_probit("share", pt.as_tensor(prior), dims="annotator")
    return graph


@pytest.mark.parametrize("prior", PRIORS)
def test_density_and_gradient_are_those_of_the_beta_however_far_out(prior):
    graph, (a, b) = graph_of(prior, FAR.size), prior
    point = {"share_probit__": FAR}
    density = graph.compile_logp(sum=False, mode=PYTHON)(point)[0]
    exact = (a - 1) * log_ndtr(FAR) + (b - 1) * log_ndtr(-FAR) - betaln(a, b) + norm.logpdf(FAR)
    np.testing.assert_allclose(density, exact, rtol=1e-12, atol=1e-12)
    hazard = np.exp(norm.logpdf(FAR) - log_ndtr(FAR))  # phi / Phi
    slope = (a - 1) * hazard - (b - 1) * hazard[::-1] - FAR
    np.testing.assert_allclose(graph.compile_dlogp(mode=PYTHON)(point), slope, rtol=1e-10, atol=1e-10)


def test_there_and_back_keeps_the_digits_of_the_smaller_part():
    graph = graph_of((0.5, 0.5), 1)
    transform = graph.rvs_to_transforms[graph["share"]]
    small = np.array([1e-15, 1e-9, 0.2, 0.5])
    for share in (small, 1 - small):
        z = transform.forward(pt.as_tensor(share)).eval(mode=PYTHON)
        back = transform.backward(pt.as_tensor(z)).eval(mode=PYTHON)
        np.testing.assert_allclose(np.minimum(back, 1 - back), np.minimum(share, 1 - share), rtol=1e-11, atol=2e-16)
        np.testing.assert_allclose(ndtr(z), share, rtol=1e-11)
