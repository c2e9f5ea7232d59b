"""The logarithms of a simplex in one pass, and a transform by them: PyMC's coordinates, PyMC's log-Jacobian."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.transforms import SimplexTransform
from pytensor.compile.mode import Mode
from scipy.special import log_softmax

import bayesanno as ba
from bayesanno._core.private.pytensor import register_with_jax
from bayesanno.modeling.ops.transforms import (
    LogSimplex,
    LogSimplexTransform,
    log_simplex,
    use_log_simplex,
)

PYTHON = Mode(linker="py", optimizer="fast_run")
MODES = {"python": PYTHON, "numba": "NUMBA"}


def log_p_of(y):
    return log_softmax(np.concatenate([y, -y.sum(axis=-1, keepdims=True)], axis=-1), axis=-1)


def log_p(symbol):
    return log_simplex(symbol)[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1,), (4,), (5, 1), (6, 2, 3), (0, 2), (2, 0, 3)])
def test_logarithms_are_those_of_the_softmax(mode, shape, rng):
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-2, 4, size=(*shape[:-1], 1))
    symbol = pt.tensor(shape=(None,) * len(shape))
    found, s = pytensor.function([symbol], log_simplex(symbol), mode=MODES[mode])(values)
    np.testing.assert_allclose(found, log_p_of(values), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.exp(found).sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(-(shape[-1] + 1) * s, log_p_of(values).sum(axis=-1), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_are_not_contiguous_are_read_right(mode, rng):
    symbol, values = pt.tensor3(), rng.normal(size=(3, 4, 2))
    function = pytensor.function([symbol], log_p(symbol.transpose(2, 1, 0)[:, ::2]), mode=MODES[mode])
    np.testing.assert_allclose(function(values), log_p_of(values.transpose(2, 1, 0)[:, ::2]), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_nan_is_not_hidden(mode):
    symbol, values = pt.matrix(), np.array([[np.nan, 0.0], [0.0, np.nan], [np.inf, np.nan], [1.0, 2.0]])
    for found in pytensor.function([symbol], log_simplex(symbol), mode=MODES[mode])(values):
        assert np.isnan(found[:3]).all()
        assert np.isfinite(found[3]).all()


def test_gradients_and_second_derivatives_are_right(rng):
    for shape in [(1,), (3,), (2, 2, 3)]:
        values = rng.normal(size=shape)
        weights = rng.normal(size=(*shape[:-1], shape[-1] + 1))
        formulas = [
            log_p,
            lambda y: log_simplex(y)[1],
            lambda y: log_simplex(y)[0] * log_simplex(y)[1][..., None],
            lambda y, w=weights: pytensor.grad((w * log_p(y) ** 2).sum() + log_simplex(y)[1].sum(), y),
        ]
        for formula in formulas:
            pytensor.gradient.verify_grad(formula, [values], rng=rng, mode=PYTHON)


def test_the_logarithm_of_a_probability_is_not_computed_twice():
    symbol = pt.matrix()
    p = LogSimplexTransform().backward(symbol)
    function = pytensor.function([symbol], [pt.log(p), LogSimplexTransform().log_jac_det(symbol)], mode=PYTHON)
    ops = [node.op for node in function.maker.fgraph.apply_nodes]
    assert sum(isinstance(op, LogSimplex) for op in ops) == 1
    assert not any("exp" in str(op) for op in ops)


@pytest.mark.parametrize("wrong", [pt.scalar(), pt.lvector()])
def test_what_has_no_rows_of_floats_is_refused(wrong):
    with pytest.raises(TypeError, match="rows of floats"):
        log_simplex(wrong)


@pytest.mark.extras
def test_jax_computes_the_same(rng):
    jax = pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    register_with_jax()
    symbol, values = pt.tensor3(), rng.normal(size=(3, 2, 4))
    weights = rng.normal(size=(3, 2, 5))
    function = pytensor.function([symbol], log_simplex(symbol), mode="JAX")
    np.testing.assert_allclose(function(values)[0], log_p_of(values), rtol=1e-5)
    np.testing.assert_allclose(-5 * function(values)[1], log_p_of(values).sum(axis=-1), rtol=1e-5)
    inside = function.vm.jit_fn  # NumPyro differentiates this itself
    found = jax.grad(lambda y: (weights * inside(y)[0]).sum())(jax.numpy.asarray(values))
    gradient = pytensor.grad((weights * log_p(symbol)).sum(), symbol).eval({symbol: values}, mode=PYTHON)
    np.testing.assert_allclose(found, gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(1,), (4,), (6, 2, 3)])
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


def test_models_of_the_zoo_get_it():
    data = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no")])
    model = ba.get_model("model_b").build(data)
    assert {type(transform) for transform in model.rvs_to_transforms.values() if transform} == {LogSimplexTransform}
