"""Model A in several dimensions: graph, process and way back against brute force over all correctness patterns."""

import itertools

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

from bayesanno import AnnotationData, MultiAnnotationData
from bayesanno._core.errors import DataError
from bayesanno.io.dimensions import read_multi_annotations
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.data_adapters import DATA_ADAPTERS
from bayesanno.modeling.likelihood import index_arrays
from bayesanno.modeling.posterior import recover
from bayesanno.models._correctness.correlation import admissible, maximal_sets
from bayesanno.models._correctness.process import draw_correct
from bayesanno.models.model_a import ModelA
from bayesanno.models.model_a_multi import ModelAMulti
from tests.models import oracles_model_a as oracle
from tests.models import references_model_a as reference
from tests.models.contract import FAST, FEW_COPIES, GRADIENT, P_VALUE, Graph, as_posterior, chi_square, close

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

PAIRS = list(itertools.combinations(range(3), 2))
DIMENSIONS = ("evidence", "focus", "polarity")
ANNOTATORS = ("ada", "bo", "cy")
LABELS = {"evidence": ("e0", "e1", "e2"), "focus": ("f0", "f1", "f2", "f3"), "polarity": ("-", "+")}
THETA = np.array(oracle.COX_THETA)  # (annotator, dimension)
OMEGA = {f"frequency_{name}": np.array(w) for name, w in zip(DIMENSIONS, oracle.COX_OMEGAS, strict=True)}
RHO = np.array([oracle.COX_RHOS[pair] for pair in PAIRS])
TOGETHER = {"accuracy": THETA, "correlation": RHO, **OMEGA}
APART = TOGETHER | {"correlation": np.zeros(3)}


def table(said_of_items):
    """Items whose annotators said this in each dimension, None for nothing."""
    parts = {}
    for x, name in enumerate(DIMENSIONS):
        rows = [
            (i, j, said[x][j])
            for i, said in enumerate(said_of_items)
            for j in range(len(ANNOTATORS))
            if said[x][j] is not None
        ]
        item, annotator, label = np.array(rows).T
        parts[name] = AnnotationData(
            item=item,
            annotator=annotator,
            label=label,
            items=tuple(f"s{i}" for i in range(len(said_of_items))),
            annotators=ANNOTATORS,
            labels=LABELS[name],
        )
    return MultiAnnotationData(by_dimension=parts)


ITEMS = [
    *oracle.COX,
    ((0, None, 2), (None, 1, 1), (1, 1, None)),  # not everybody answers everything
    ((2, None, None), (None, 3, None), (0, 0, 0)),
    ((None, None, None), (0, 1, 2), (None, 1, None)),  # nothing in a dimension
    ((0, None, 2), (None, 1, 1), (1, 1, None)),  # the same again
]
DATA = table(ITEMS)


@pytest.fixture(scope="module")
def model():
    return ModelAMulti(frequency="shared").build(DATA)


def enumerate_items(parameters, items=ITEMS):
    rhos = dict(zip(PAIRS, parameters["correlation"], strict=True))
    omegas = [parameters[f"frequency_{name}"] for name in DIMENSIONS]
    return [reference.cox_item(parameters["accuracy"], omegas, rhos, said) for said in items]


def random_parameters(rng):
    """Any accuracies and frequencies, and correlations on the way to the wall of what they admit."""
    theta = rng.uniform(0.05, 0.95, size=(3, 3))
    z = rng.normal(size=3)
    wall = reference.gauge(theta, dict(zip(PAIRS, z, strict=True)))
    omegas = {name: rng.dirichlet(np.ones(w.size)) for name, w in OMEGA.items()}
    return {"accuracy": theta, "correlation": rng.uniform() * z / wall, **omegas}


# ------------------------------------------------------------------------------------- the likelihood, and the way back


def test_likelihood_and_states_are_sums_over_all_correctness_patterns(model, rng):
    samples = [TOGETHER, APART, *(random_parameters(rng) for _ in range(4))]
    posterior = as_posterior(model, [{**one, "direction": np.ones(3)} for one in samples], n_chains=2)
    correlation = np.stack([one["correlation"] for one in samples]).reshape(2, 3, 3)
    posterior = posterior.assign(correlation=(("chain", "draw", "dimension_pair"), correlation))
    found = recover(ModelAMulti(frequency="shared"), DATA, posterior)
    each = [enumerate_items(one) for one in samples]
    close(found.log_likelihood.reshape(6, -1), [[np.log(p) for p, _ in items] for items in each])
    for x, name in enumerate(DIMENSIONS):
        expected = np.mean([[states[x] for _, states in items] for items in each], axis=0)
        latent, said = found.latents[name], DATA.by_dimension[name]
        close(latent["probability"].values, expected)
        close(latent["correct"].values, expected[said.item, said.label])
        assert latent["probability"].dims == ("item", "true_class")
        assert latent["label_probability"].dims == ("item", "response")
        close(latent["label_probability"].sum("response").values, 1.0)


def test_without_correlation_it_is_separate_models():
    alone = sum(
        Graph(ModelA(frequency="shared"), DATA.by_dimension[name]).item_logp(
            {"accuracy": THETA[:, x], "frequency": OMEGA[f"frequency_{name}"]}
        )
        for x, name in enumerate(DIMENSIONS)
    )
    uncorrelated = Graph(ModelAMulti(frequency="shared", correlated=False), DATA)
    np.testing.assert_allclose(uncorrelated.item_logp(TOGETHER), alone, rtol=1e-13)
    close(alone, [np.log(p) for p, _ in enumerate_items(APART)])


# ------------------------------------------------------------------------------------------------- the graph


def test_gradient_is_the_finite_difference(model, rng):
    logp, gradient = model.compile_logp(mode=FAST), model.compile_dlogp(mode=FAST)
    origin = pm.blocking.DictToArrayBijection.map(model.initial_point())

    def at(x):
        return pm.blocking.DictToArrayBijection.rmap(pm.blocking.RaveledVars(x, origin.point_map_info))

    x = rng.normal(size=origin.data.size)
    differences = [(logp(at(x + e)) - logp(at(x - e))) / 2e-5 for e in 1e-5 * np.eye(x.size)]
    np.testing.assert_allclose(gradient(at(x)), differences, rtol=GRADIENT, atol=10 * GRADIENT)


def test_correlations_are_admissible_and_fill_the_region(model, rng):
    names = ["accuracy", "correlation", "extent"]
    drawn = dict(zip(names, pm.draw([model[n] for n in names], draws=300, random_seed=rng, mode=FAST), strict=True))
    for theta, rho, extent in zip(*drawn.values(), strict=True):
        assert reference.gauge(theta, dict(zip(PAIRS, rho, strict=True))) == pytest.approx(extent, rel=1e-6)
    uniform = np.sort(drawn["extent"] ** 3)
    assert np.abs(uniform - (np.arange(300) + 0.5) / 300).max() < 1.95 / np.sqrt(300)  # Kolmogorov, p = 0.001


def test_one_pair_is_uniform_on_either_side(rng):
    theta, together = pt.as_tensor(THETA[:, :2]), pt.as_tensor(np.ones((1, 3)))
    z = pt.vector("z")
    rho, _ = admissible(z, theta, together, 2)
    low, high = oracle.COX_RANGES[0, 1]
    drawn = np.sort([float(rho.eval({z: [one]}, mode=FAST)[0]) for one in rng.normal(size=200)])
    below = np.where(drawn < 0, 0.5 * (1 - drawn / low), 0.5 + 0.5 * drawn / high)
    assert np.abs(below - (np.arange(200) + 0.5) / 200).max() < 1.95 / np.sqrt(200)


def test_maximal_sets():
    records = {"x": [("1", "a"), ("1", "b"), ("2", "c"), ("3", "b"), ("4", "d")], "y": [("2", "b"), ("3", "c")]}
    parts = {
        name: AnnotationData(
            item=[int(i) - 1 for i, _ in rows],
            annotator=["abcd".index(a) for _, a in rows],
            label=[0] * len(rows),
            items=("1", "2", "3", "4"),
            annotators=("a", "b", "c", "d"),
            labels=("no", "yes"),
        )
        for name, rows in records.items()
    }
    sets = maximal_sets(MultiAnnotationData(by_dimension=parts))
    assert sorted(map(tuple, sets.tolist())) == [(0, 0, 0, 1), (0, 1, 1, 0), (1, 1, 0, 0)]


# ------------------------------------------------------------------------------------------------- the process


def test_correctness_is_drawn_from_the_law(rng):
    theta = np.array(oracle.FIGURE3_THETA)
    pmf = dict(reference.cox_patterns(theta, {(0, 1): oracle.FIGURE3_RHO}))
    pmf = {(*x, *y): p for (x, y), p in pmf.items()}

    def draw(rho):
        right = draw_correct(theta, np.array([rho]), np.ones((FEW_COPIES * 5, 3, 2), dtype=bool), rng)
        return right.transpose(0, 2, 1).reshape(len(right), -1).astype(int)

    assert chi_square(draw(oracle.FIGURE3_RHO), pmf) > P_VALUE
    assert chi_square(draw(-oracle.FIGURE3_RHO), pmf) < P_VALUE


def simulated(design, copies, parameters, rng):
    """Answers of two annotators in all dimensions (one of them silent in one), a row per copy."""
    entry, adapter = ModelAMulti(frequency="shared"), DATA_ADAPTERS[MultiAnnotationData]
    arrays = index_arrays(entry, design, adapter.find_patterns(design))
    given = Parameters({name: pt.as_tensor(values) for name, values in parameters.items()})
    seen = adapter.design(design, {key: pt.as_tensor(array.values) for key, array in arrays.items()})
    state, said = pm.draw(list(entry.generate(seen, given)), random_seed=rng, mode=FAST)
    assert state.size == 3 * copies
    evidence, focus, polarity = np.split(said, np.cumsum([2 * copies, copies]))
    return np.column_stack([evidence.reshape(copies, 2), focus, polarity.reshape(copies, 2)])


def test_simulated_answers_have_the_probabilities_of_the_formula(rng):
    silent, copies = ((0, 0, None), (0, None, None), (0, 0, None)), 5 * FEW_COPIES
    design = table([silent] * copies)
    strong = TOGETHER | {"accuracy": np.full((3, 3), 0.6), "correlation": np.array([0.0, 0.3, 0.0])}
    pmf = {}
    for a, b, c, d, e in itertools.product(range(3), range(3), range(4), range(2), range(2)):
        ((probability, _),) = enumerate_items(strong, [((a, b, None), (c, None, None), (d, e, None))])
        pmf[a, b, c, d, e] = probability
    assert sum(pmf.values()) == pytest.approx(1, abs=1e-12)
    assert chi_square(simulated(design, copies, strong, rng), pmf) > P_VALUE
    assert (
        chi_square(simulated(design, copies, strong | {"correlation": np.array([0.0, -0.3, 0.0])}, rng), pmf) < P_VALUE
    )


# ------------------------------------------------------------------------------------------------- what is refused


def test_what_it_cannot_take_is_refused(refuses):
    records = [("s1", "ada", "no"), ("s1", "ada", "yes"), ("s1", "bo", "no")]
    twice = AnnotationData.from_records(records)
    with refuses(DataError, "model_a_multi, dimension 'x': annotator 'ada' answered item 's1' 2 times"):
        ModelAMulti().build(MultiAnnotationData(by_dimension={"x": twice, "y": twice}))
    known = AnnotationData.from_records(records[1:], labels=["no", "yes"], controls={"s1": "no"})
    with refuses(DataError, "model_a_multi, dimension 'x': known labels cannot be used as controls"):
        ModelAMulti().build(MultiAnnotationData(by_dimension={"x": known, "y": known}))
    with refuses(DataError, "model_a_multi needs MultiAnnotationData"):
        ModelAMulti().build(twice)
    nine = AnnotationData.from_records([("s1", f"a{j}", str(j % 2)) for j in range(9)])
    with refuses(DataError, "item 's1' has 9 annotations: it can have at most 8"):
        ModelAMulti().build(MultiAnnotationData(by_dimension={"x": nine, "y": nine}))


def test_dimensions_must_share_items_and_annotators(refuses):
    one = AnnotationData.from_records([("s1", "ada", "no"), ("s1", "bo", "yes")])
    other = AnnotationData.from_records([("s1", "ada", "no"), ("s2", "bo", "yes")])
    with refuses(DataError, "dimensions 'x' and 'y' do not have the same items in the same order: see 's2'"):
        MultiAnnotationData(by_dimension={"x": one, "y": other})
    with refuses(DataError, "dimension 'tone/form' has a slash in its name"):
        MultiAnnotationData(by_dimension={"tone/form": one, "y": one})
    with refuses(DataError, "needs at least two dimensions, not 1"):
        MultiAnnotationData(by_dimension={"x": one})


def test_hash_and_coords_name_everything():
    assert DATA.hash == table(ITEMS).hash != table(ITEMS[:-1]).hash
    coords = DATA.coords()
    assert tuple(coords["dimension"]) == DIMENSIONS
    assert tuple(coords["response_polarity"]) == LABELS["polarity"]
    frame = DATA.to_frame()
    assert frame.columns.tolist() == ["item", "annotator", *DIMENSIONS]
    assert read_multi_annotations(frame, DIMENSIONS, labels=LABELS).hash == DATA.hash
