"""Numbers of items are integrated out so exactly that class probabilities are those of dense nodes."""

import numpy as np
import pymc as pm
import pytest

import bayesanno as ba
from bayesanno._core.private import register_with_jax
from bayesanno.modeling import item_effects
from bayesanno.modeling.posterior import compile_formula
from bayesanno.models import ItemDifficulty, OrdinalDawidSkene, SharedErrors
from tests.models.contract import FAST, as_posterior, said_of
from tests.models.references import REFERENCES

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of small tables, each evaluated a few times

EXACT = 1e-3  # of a class probability
LABELS = ("bad", "fair", "good", "best")
DENSE = {"n_z": 1200, "n_slope": 0}
MODELS = {
    "ordinal": OrdinalDawidSkene(shared=True),
    "ordinal-normal": OrdinalDawidSkene(shared=True, noise="normal"),
    "shared_errors": SharedErrors(),
    "chance": ItemDifficulty(),
    "glad": ItemDifficulty(form="glad"),
    "1pl": ItemDifficulty(form="1pl"),
}


def make_table(rng, *, n_items, n_annotators, per_item, repeats):
    """Answers in dispute, some by the same annotator, and an item whose label is known."""
    truth = rng.integers(4, size=n_items)
    item = np.repeat(np.arange(n_items), per_item)
    who = np.concatenate([rng.permutation(n_annotators)[:per_item] for _ in range(n_items)])
    again = rng.integers(item.size, size=repeats)
    item, who = np.append(item, item[again]), np.append(who, who[again])
    label = np.where(rng.uniform(size=item.size) < 0.6, truth[item], rng.integers(4, size=item.size))
    names = tuple(f"i{i}" for i in range(n_items))
    return ba.AnnotationData(
        item=item, annotator=who, label=label, items=names, labels=LABELS, order_declared=True,
        annotators=tuple(f"a{j}" for j in range(n_annotators)),
        controls={names[0]: LABELS[truth[0]]},
    )  # fmt: skip


TABLES = {
    58: {"n_items": 12, "n_annotators": 5, "per_item": 4, "repeats": 10},
    88: {"n_items": 14, "n_annotators": 7, "per_item": 6, "repeats": 4},
    120: {"n_items": 2, "n_annotators": 60, "per_item": 60, "repeats": 0},
}


def draw_prior(model, data, n, seed):
    graph = model.build(data)
    values = pm.draw(graph.free_RVs, draws=n, random_seed=seed, mode=FAST)
    names = [variable.name for variable in graph.free_RVs]
    return graph, [dict(zip(names, one, strict=True)) for one in zip(*values, strict=True)]


def probabilities(model, data, posterior):
    """Of each draw, p(class | the item's answers): (draw, item, true_class)."""
    joint = np.stack(list(compile_formula(model, data, posterior).log_joint()))
    return np.exp(joint - np.logaddexp.reduce(joint, axis=2)[:, :, None])


def by_dense_nodes(model, data, parameters, dense=DENSE):
    reference, known = REFERENCES[model.name].with_fields(model.to_fields()), data.control_codes
    joint = [reference.states(parameters | dense, said_of(data, i), known[i]) for i in range(data.n_items)]
    return np.array([row / row.sum() for row in joint], dtype=float)


def largest_error(model, data, n=20, seed=3, dense=DENSE):
    graph, samples = draw_prior(model, data, n, seed)
    found = probabilities(model, data, as_posterior(graph, samples))
    each = zip(found, samples, strict=True)
    return max(np.abs(one - by_dense_nodes(model, data, at, dense)).max() for one, at in each)


@pytest.mark.parametrize(
    ("name", "size"), [*((name, 88) for name in MODELS), ("ordinal", 58), ("chance", 58), ("shared_errors", 120)]
)
def test_class_probabilities_are_those_of_dense_nodes(name, size, rng):
    """At points of priors that are wider than the default ones."""
    wide = {"shared_prior": 0.6} if name.startswith("ordinal") else {"spread_prior": 2.0}
    model = type(MODELS[name]).from_fields(MODELS[name].to_fields() | wide)
    data = make_table(rng, **TABLES[size])
    assert data.n_annotations == size
    assert largest_error(model, data, n=5 if size == 120 else 10) < EXACT


def test_slopes_are_integrated_out_as_exactly(rng):
    """By a grid of both numbers."""
    model, data = ItemDifficulty(form="2pl"), make_table(rng, **TABLES[58])
    assert largest_error(model, data, n=2, seed=5, dense={"n_z": 400, "n_slope": 40}) < EXACT


def test_draws_that_are_read_off_together_have_the_nodes_that_each_has_alone(rng):
    model, data = SharedErrors(), make_table(rng, **TABLES[58])
    graph, samples = draw_prior(model, data, 3, 2)
    together = as_posterior(graph, samples)
    found = compile_formula(model, data, together).log_likelihood()[0]
    for draw, one in enumerate(samples):
        alone = compile_formula(model, data, as_posterior(graph, [one])).log_likelihood()[0, 0]
        np.testing.assert_allclose(found[draw], alone, rtol=1e-12)


def test_nodes_follow_the_sharpest_answers(rng):
    model, data = SharedErrors(), make_table(rng, **TABLES[58])
    graph, (at, _) = draw_prior(model, data, 2, 2)

    def number(spread):
        draws = as_posterior(graph, [at | {"spread": np.array(spread)}])
        return item_effects.number_of_nodes(model, data, draws)

    assert number(0.0) == 17 < number(1.0) < number(4.0)  # 8 / 1.1 to either side, and the middle
    assert number(1e9) == 2001
    assert number(np.nan) == 2001


@pytest.mark.extras
@pytest.mark.parametrize("name", ["ordinal", "shared_errors", "2pl"])
def test_jax_has_the_density_and_the_gradient_of_numpy(name, rng):
    """By a number of nodes of its own, which is enough unless answers are very sharp."""
    jax = pytest.importorskip("jax", reason="JAX is an extra: pip install 'bayesanno[numpyro]'")
    from pymc.sampling.jax import get_jaxified_logp

    register_with_jax()
    model = ItemDifficulty(form="2pl") if name == "2pl" else MODELS[name]
    graph = model.build(make_table(rng, **TABLES[58]))
    point = graph.initial_point()
    logp, slope = graph.compile_fn([graph.logp(), graph.dlogp()], mode=FAST)(point)
    in_jax = jax.value_and_grad(get_jaxified_logp(graph))(list(point.values()))
    np.testing.assert_allclose(in_jax[0], logp, rtol=1e-6)
    np.testing.assert_allclose(np.concatenate([np.ravel(each) for each in in_jax[1]]), slope, rtol=1e-4, atol=1e-6)
