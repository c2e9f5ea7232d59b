"""The cheaper transform of a simplex: PyMC's coordinates, PyMC's log-Jacobian, and its gradient far out."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.transforms import SimplexTransform
from pytensor.compile.mode import Mode

import bayesanno as ba
from bayesanno.modeling.ops.simplex import SharedSimplexTransform, share_softmax

PYTHON = Mode(linker="py", optimizer="fast_run")


@pytest.mark.parametrize("shape", [(1,), (4,), (6, 2, 3)])
def test_log_jacobian_is_that_of_pymc(shape, rng):
    values = 3 * rng.normal(size=shape)
    symbol = pt.tensor(shape=(None,) * len(shape))
    pairs = []
    for transform in (SimplexTransform(), SharedSimplexTransform()):
        log_jacobian = transform.log_jac_det(symbol)
        gradient = pytensor.grad(log_jacobian.sum(), symbol)
        pairs.append(
            pytensor.function([symbol], [transform.backward(symbol), log_jacobian, gradient], mode=PYTHON)(values)
        )
    for theirs, ours in zip(*pairs, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_log_jacobian_stays_finite_where_probabilities_underflow():
    symbol = pt.vector()
    log_jacobian = SharedSimplexTransform().log_jac_det(symbol)
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
    share_softmax(model)
    np.testing.assert_allclose(model.compile_logp(mode=PYTHON)(point), before, rtol=1e-13)
    assert [variable.name for variable in model.value_vars] == names
    changed = [v.name for v, how in model.rvs_to_transforms.items() if isinstance(how, SharedSimplexTransform)]
    assert changed == ["p"]


def test_models_of_the_zoo_get_it():
    data = ba.AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "ada", "no")])
    model = ba.get_model("model_b").build(data)
    assert {type(transform) for transform in model.rvs_to_transforms.values() if transform} == {SharedSimplexTransform}
