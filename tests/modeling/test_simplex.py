"""The logarithms of a simplex in one pass, and a transform by them: PyMC's coordinates, PyMC's log-Jacobian."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.transforms import SimplexTransform
from pytensor.compile.mode import Mode
from scipy.special import log_softmax

from bayesanno.modeling.ops.transforms import (
    LogSimplex,
    LogSimplexTransform,
    log_simplex,
    use_log_simplex,
)
from tests.modeling.backends import BACKENDS, compile_in

PYTHON = Mode(linker="py", optimizer="fast_run")


def log_p_of(y):
    return log_softmax(np.concatenate([y, -y.sum(axis=-1, keepdims=True)], axis=-1), axis=-1)


@pytest.fixture(scope="module", params=BACKENDS)
def function(request):
    """The operation on three dimensions: on rows as they are, and on rows that are not contiguous."""
    symbol, turned = pt.tensor3(), pt.tensor3()
    outputs = [*log_simplex(symbol), log_simplex(turned.transpose(2, 1, 0))[0]]
    return compile_in(request.param, [symbol, turned], outputs)


@pytest.mark.parametrize("shape", [(1, 1, 4), (1, 5, 1), (6, 2, 3), (1, 0, 2), (2, 0, 3)])
def test_logarithms_are_those_of_the_softmax(function, shape, rng):
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-2, 4, size=(*shape[:-1], 1))
    found, s, of_turned = function(values, np.ascontiguousarray(values.transpose(2, 1, 0)))
    for log_p in (found, of_turned):
        np.testing.assert_allclose(log_p, log_p_of(values), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(np.exp(log_p).sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(-(shape[-1] + 1) * s, log_p_of(values).sum(axis=-1), rtol=1e-12)


def test_nan_is_not_hidden(function):
    values = np.array([[[np.nan, 0.0], [0.0, np.nan], [np.inf, np.nan], [1.0, 2.0]]])
    for found in function(values, values.transpose(2, 1, 0)):
        assert np.isnan(found[0, :3]).all()
        assert np.isfinite(found[0, 3]).all()


def test_the_logarithm_of_a_probability_is_not_computed_twice():
    symbol = pt.matrix()
    p = LogSimplexTransform().backward(symbol)
    function = pytensor.function([symbol], [pt.log(p), LogSimplexTransform().log_jac_det(symbol)], mode=PYTHON)
    ops = [node.op for node in function.maker.fgraph.apply_nodes]
    assert sum(isinstance(op, LogSimplex) for op in ops) == 1
    assert not any("exp" in str(op) for op in ops)


@pytest.mark.parametrize("shape", [(1,), (6, 2, 3)])
def test_log_jacobian_is_that_of_pymc(shape, rng):
    values = 3 * rng.normal(size=shape)
    symbol = pt.tensor(shape=(None,) * len(shape))
    pairs = []
    for transform in (SimplexTransform(), LogSimplexTransform()):
        log_jacobian = transform.log_jac_det(symbol)
        gradient = pytensor.grad(log_jacobian.sum(), symbol)
        pairs.append(
            pytensor.function([symbol], [transform.backward(symbol), log_jacobian, gradient], mode=PYTHON)(values)
        )
    for theirs, ours in zip(*pairs, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_log_jacobian_stays_finite_where_probabilities_underflow():
    symbol = pt.vector()
    log_jacobian = LogSimplexTransform().log_jac_det(symbol)
    gradient = pytensor.grad(log_jacobian, symbol)
    values = np.array([2000.0, -500.0])
    np.testing.assert_allclose(log_jacobian.eval({symbol: values}, mode=PYTHON), np.log(3) - 2500 - 3500, rtol=1e-12)
    np.testing.assert_allclose(gradient.eval({symbol: values}, mode=PYTHON), [-3.0, 0.0], atol=1e-12)


def test_only_simplexes_change_and_no_density_does(rng):
    with pm.Model() as model:
        pm.Dirichlet("p", [0.5, 2.0, 3.0])
        pm.Gamma("rate", 2.0, 1.0)
        pm.Normal("mean")
    point = {name: value + rng.normal(size=np.shape(value)) for name, value in model.initial_point().items()}
    before, names = model.compile_logp(mode=PYTHON)(point), [variable.name for variable in model.value_vars]
    use_log_simplex(model)
    np.testing.assert_allclose(model.compile_logp(mode=PYTHON)(point), before, rtol=1e-13)
    assert [variable.name for variable in model.value_vars] == names
    changed = [v.name for v, how in model.rvs_to_transforms.items() if isinstance(how, LogSimplexTransform)]
    assert changed == ["p"]
