"""Model A in several dimensions: graph, process and way back against brute force over all correctness patterns."""

import itertools

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

from bayesanno import AnnotationData, MultiAnnotationData
from bayesanno._core.messages import DataError
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.kinds import kind_of
from bayesanno.modeling.likelihood import index_arrays
from bayesanno.modeling.posterior import recover
from bayesanno.models._correctness.correlation import admissible, maximal_sets
from bayesanno.models.model_a import ModelA
from bayesanno.models.model_a_multi import ModelAMulti
from tests.models import oracles_model_a as oracle
from tests.models import references_model_a as reference
from tests.models.contract import FAST, FEW_COPIES, P_VALUE, Graph, as_posterior, chi_square, close

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


def annotate(rows, n_items, annotators, labels):
    """Annotations from rows of numbers: item, annotator, label."""
    item, annotator, label = np.array(rows).T
    names = tuple(f"s{i}" for i in range(n_items))
    return AnnotationData(
        item=item, annotator=annotator, label=label, items=names, annotators=tuple(annotators), labels=labels
    )


def table(said_of_items):
    """Items whose annotators said this in each dimension, None for nothing."""
    parts = {}
    for x, name in enumerate(DIMENSIONS):
        said = [(i, j, label) for i, of in enumerate(said_of_items) for j, label in enumerate(of[x])]
        rows = [row for row in said if row[2] is not None]
        parts[name] = annotate(rows, len(said_of_items), ANNOTATORS, LABELS[name])
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
    for items, expected in zip(each, zip(*oracle.COX.values(), strict=True), strict=False):  # together, and apart
        np.testing.assert_allclose([p for p, _ in items[: len(expected)]], expected, rtol=1e-12)
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


# ------------------------------------------------------------------------------------------------- the graph


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
    low, high = oracle.COX_RANGE
    drawn = np.sort([float(rho.eval({z: [one]}, mode=FAST)[0]) for one in rng.normal(size=200)])
    below = np.where(drawn < 0, 0.5 * (1 - drawn / low), 0.5 + 0.5 * drawn / high)
    assert np.abs(below - (np.arange(200) + 0.5) / 200).max() < 1.95 / np.sqrt(200)


def test_maximal_sets():
    rows = {"x": [(0, 0), (0, 1), (1, 2), (2, 1), (3, 3)], "y": [(1, 1), (2, 2)]}  # (item, annotator)
    parts = {name: annotate([(*row, 0) for row in each], 4, "abcd", ("no", "yes")) for name, each in rows.items()}
    sets = maximal_sets(MultiAnnotationData(by_dimension=parts))
    assert sorted(map(tuple, sets.tolist())) == [(0, 0, 0, 1), (0, 1, 1, 0), (1, 1, 0, 0)]


# ------------------------------------------------------------------------------------------------- the process


def simulated(design, copies, parameters, rng):
    """Answers of two annotators in all dimensions (one of them silent in one), a row per copy."""
    entry = ModelAMulti(frequency="shared")
    adapter = kind_of(entry)
    arrays = index_arrays(entry, design, adapter.find_patterns(design))
    given = Parameters({name: pt.as_tensor(values) for name, values in parameters.items()})
    seen = adapter.design(design, {key: pt.as_tensor(array.values) for key, array in arrays.items()})
    state, said = pm.draw(list(entry.generate(seen, given)), random_seed=rng, mode=FAST)
    assert state.size == 3 * copies
    evidence, focus, polarity = np.split(said, np.cumsum([2 * copies, copies]))
    return np.column_stack([evidence.reshape(copies, 2), focus, polarity.reshape(copies, 2)])


def test_simulated_answers_have_the_probabilities_of_the_formula(rng):
    silent, copies = ((0, 0, None), (0, None, None), (0, 0, None)), 2 * FEW_COPIES
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

RECORDS = [("s1", "ada", "no"), ("s1", "bo", "yes")]
ONE = AnnotationData.from_records(RECORDS)


@pytest.mark.parametrize(
    ("part", "match"),
    [
        (AnnotationData.from_records([*RECORDS, ("s1", "ada", "yes")]), "'x': annotator 'ada' answered item 's1' 2"),
        (AnnotationData.from_records(RECORDS, controls={"s1": "no"}), "'x': known labels cannot be used"),
        (AnnotationData.from_records([("s1", f"a{j}", str(j % 2)) for j in range(9)]), "'s1' has 9 annotations"),
    ],
    ids=["twice", "known", "nine"],
)
def test_what_it_cannot_take_is_refused(part, match, refuses):
    with refuses(DataError, match):
        ModelAMulti().build(MultiAnnotationData(by_dimension={"x": part, "y": part}))
    with refuses(DataError, "model_a_multi needs MultiAnnotationData"):
        ModelAMulti().build(part)


def test_dimensions_must_share_items_and_annotators(refuses):
    other = AnnotationData.from_records([("s1", "ada", "no"), ("s2", "bo", "yes")])
    for parts, match in (
        ({"x": ONE, "y": other}, "'x' and 'y' do not have the same items in the same order: see 's2'"),
        ({"tone/form": ONE, "y": ONE}, "'tone/form' has a slash"),
        ({"x": ONE}, "at least two dimensions"),
    ):
        with refuses(DataError, match):
            MultiAnnotationData(by_dimension=parts)
