"""Class priors that depend on the item: formulas against enumeration, processes, new items, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pymc as pm
import pytest
from scipy.special import softmax
from scipy.stats import chisquare, norm

import bayesanno as ba
from bayesanno.graph.functions import add_deterministics
from bayesanno.modeling import posterior as recovery
from bayesanno.modeling.class_prior import log_classes_of_items
from bayesanno.modeling.posterior import recover
from bayesanno.simulation.quantities import ModelDraws, describe_annotators, replicate
from tests.models.contract import FAST, Graph, as_posterior, known_values, said_of
from tests.models.references import REFERENCES

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of twelve items, each evaluated a few times

SYSTEMS = ("bloom", "llama", "opt", "pythia")
LANGUAGES = ("de", "en", "fi")
LABELS = ("first", "second", "tie")
N_ITEMS = 12
PRIORS = {
    "pairs": ba.Pairs(strength_prior=1.5),
    "columns": ba.Columns("language*length + (length | source)"),
    "classifier": ba.Classifier(),
    "twice": ba.Pairs() + ba.Columns("first + source"),  # whose codes are not those of the systems: of three, not four
    "sum": ba.Pairs() + ba.Columns("length", coefficient_prior=0.5) + ba.Classifier(slope_prior=(0.5, 0.5)),
}


def make_data(controls=None):
    """Twelve comparisons: items 10 and 11 have no answers, items 0 and 1 the same ones, and so have 0 and 2."""
    rng = np.random.default_rng(7)
    pair = [(0, 1), (0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (2, 0), (0, 3), (1, 3), (2, 1), (0, 2), (2, 3)]
    said = [rng.integers(3, size=3).tolist() for _ in range(10)]
    said[1] = said[2] = said[0]
    shares = rng.dirichlet(np.ones(3), N_ITEMS)
    columns = {
        "first": [SYSTEMS[a] for a, _ in pair],
        "second": [SYSTEMS[b] for _, b in pair],
        "length": [5.0, 5.0, *rng.normal(50, 10, N_ITEMS - 2)],
        "language": [LANGUAGES[code % 3] for code in range(N_ITEMS)],
        "source": ["press", "press", *rng.choice(["forum", "press"], N_ITEMS - 2)],
        **{f"p[{label}]": np.r_[shares[:1, k], shares[:1, k], shares[2:, k]] for k, label in enumerate(LABELS)},
    }
    columns["language"][1] = columns["language"][0]
    return ba.AnnotationData(
        item=np.repeat(np.arange(10), 3),
        annotator=np.tile([0, 1, 2], 10),
        label=np.ravel(said),
        items=tuple(f"q{i}" for i in range(N_ITEMS)),
        annotators=("ada", "bo", "cy"),
        labels=LABELS,
        controls=controls or {},
        item_columns=columns,
    )


DATA = make_data()


def classes_of(parameters, data):
    """p(class) of each item, by formulas of its own: (item, class)."""
    values = {name: column.names if column.levels else column.values for name, column in data.item_columns.items()}
    lengths = np.array(values["length"])
    length = (lengths - DATA.item_columns["length"].mean) / DATA.item_columns["length"].sd
    rows = []
    for i in range(data.n_items):
        eta = np.zeros(3)
        if "strength" in parameters:
            a, b = (parameters["strength"][SYSTEMS.index(values[side][i])] for side in ("first", "second"))
            eta += [a, b, parameters["tie"] + (a + b) / 2]
        else:
            eta += np.log(parameters["base_rate"])
        if "slope" in parameters:
            eta += parameters["slope"] * np.log([values[f"p[{label}]"][i] for label in LABELS])
        if "length" in parameters:
            eta += length[i] * parameters["length"]
        if "first" in parameters:
            eta += parameters["first"][SYSTEMS[:3].index(values["first"][i])]
            eta += parameters["source"][["forum", "press"].index(values["source"][i])]
        if "language" in parameters:
            language, source = LANGUAGES.index(values["language"][i]), ["forum", "press"].index(values["source"][i])
            eta += parameters["language"][language] + length[i] * parameters["language:length"][language]
            eta += parameters["1|source_sd"] * parameters["1|source_offset"][source]
            eta += length[i] * parameters["length|source_sd"] * parameters["length|source_offset"][source]
        rows.append(softmax(eta))
    return np.array(rows)


def make_model(name, prior):
    return ba.get_model(name, {"class_prior": PRIORS[prior]})


def draw(model, n, seed=1):
    graph = model.build(DATA)
    free = graph.free_RVs
    values = pm.draw(free, draws=n + 1, random_seed=seed, mode=FAST)  # PyMC gives one draw no axis
    return graph, [{one.name: each[at] for one, each in zip(free, values, strict=True)} for at in range(n)]


def reference_states(model, parameters, data):
    """p(class, answers) of each item by the reference of the model, whose prevalence is that of the item."""
    reference = REFERENCES[model.name].with_fields(model.to_fields() | {"class_prior": "learnt"})
    classes = classes_of(parameters, data)
    said = [said_of(data, i) for i in range(data.n_items)]
    whole = parameters | known_values(model, data)
    whole = whole | dict(reference.nodes(whole | {"prevalence": classes[0]}, said))
    states = [reference.states(whole | {"prevalence": p}, s) for p, s in zip(classes, said, strict=True)]
    known = data.control_codes
    return np.array([np.where((known[i] < 0) | (np.arange(3) == known[i]), one, 0.0) for i, one in enumerate(states)])


@pytest.mark.parametrize(
    ("name", "prior"),
    [("one_coin", "sum"), ("item_difficulty", "sum"), *(("model_b", prior) for prior in PRIORS)],
)
def test_likelihood_and_posterior_are_those_of_enumeration(name, prior, monkeypatch):
    model, data = make_model(name, prior), make_data(controls={"q3": "tie", "q11": "first"})
    graph, samples = draw(model, 2)
    compiled = Graph(model, data)
    for parameters in samples:
        expected = np.log(reference_states(model, parameters, data).sum(axis=1))
        np.testing.assert_allclose(compiled.item_logp(parameters), expected, rtol=1e-9, atol=1e-9)
    draws = complete(graph, samples)
    monkeypatch.setattr(recovery, "CHUNK_BYTES", 200)  # so that patterns and rows are cut
    found = recover(model, data, draws)
    states = np.array([reference_states(model, parameters, data) for parameters in samples])
    np.testing.assert_allclose(found.latent["probability"], (states / states.sum(-1, keepdims=True)).mean(0), atol=1e-8)
    np.testing.assert_allclose(found.log_likelihood[0], np.log(states.sum(axis=-1)), atol=1e-8)


def complete(graph, samples):
    """Draws with what follows from them, as a fit has it."""
    return add_deterministics(graph, as_posterior(graph, samples))


@pytest.mark.parametrize("prior", ["pairs", "columns"])
def test_prevalence_is_the_mean_over_items(prior):
    model = make_model("model_b", prior)
    graph, samples = draw(model, 2)
    draws = complete(graph, samples)
    for at, parameters in enumerate(samples):
        classes = classes_of(parameters, DATA)
        np.testing.assert_allclose(draws["prevalence"][0, at], classes.mean(axis=0))
        right = (parameters["confusion"][:, range(3), range(3)] * classes.mean(axis=0)).sum(axis=1)
        np.testing.assert_allclose(draws["accuracy"][0, at], right)
    each = np.exp(list(log_classes_of_items(model, DATA, draws)))
    np.testing.assert_allclose(each, [classes_of(one, DATA) for one in samples])


def test_classes_are_drawn_by_the_prior_of_their_item():
    model = make_model("model_b", "sum")
    graph, (parameters,) = draw(model, 1)
    draws = complete(graph, [parameters])
    many = draws.isel(draw=np.zeros(3000, dtype=int)).assign_coords(draw=np.arange(3000))
    drawn = ModelDraws(model, make_data(controls={"q3": "tie"}), many, {})
    states = np.array([state for _, state in replicate(drawn, np.random.default_rng(1))])  # (draw, item)
    expected = classes_of(parameters, DATA)
    assert (states[:, 3] == 2).all()
    free = [i for i in range(N_ITEMS) if i != 3]
    p = [chisquare(np.bincount(states[:, i], minlength=3), 3000 * expected[i]).pvalue for i in free]
    assert min(p) > 1e-4
    even = [chisquare(np.bincount(states[:, i], minlength=3), 3000 * expected.mean(axis=0)).pvalue for i in free]
    assert min(even) < 1e-4  # one prevalence for all would be noticed


@pytest.mark.parametrize("prior", PRIORS)
def test_the_prior_of_its_parameters_is_as_its_card_says(prior):
    model = make_model("model_b", prior)
    graph, (parameters,) = draw(model, 1)

    def zero_sum(values, sd, axes):
        """A normal density on the subspace of what adds up to 0: isotropic, of fewer dimensions."""
        n = np.prod([size - 1 if axis in axes else size for axis, size in enumerate(values.shape)])
        return -(values**2).sum() / sd**2 / 2 - n * np.log(sd * np.sqrt(2 * np.pi))

    expected = {
        "strength": lambda v: zero_sum(v, 1.5 if prior == "pairs" else 1.0, (0,)),
        "tie": norm(-1, 1).logpdf,
        "slope": norm(*((1, 1) if prior == "classifier" else (0.5, 0.5))).logpdf,
        "length": lambda v: zero_sum(v, 0.5 if prior == "sum" else 1.0, (0,)),
        "language": lambda v: zero_sum(v, 1.0, (0, 1)),
        "first": lambda v: zero_sum(v, 1.0, (0, 1)),
        "source": lambda v: zero_sum(v, 1.0, (0, 1)),
        "language:length": lambda v: zero_sum(v, 1.0, (0, 1)),
        "1|source_offset": lambda v: zero_sum(v, 1.0, (1,)),
        "length|source_offset": lambda v: zero_sum(v, 1.0, (1,)),
        "1|source_sd": lambda v: norm.logpdf(v) + np.log(2),
        "length|source_sd": lambda v: norm.logpdf(v) + np.log(2),
    }
    free = [one for one in graph.free_RVs if one.name in expected]
    assert {one.name for one in graph.free_RVs} - {"base_rate", "confusion"} == {one.name for one in free}
    each = [float(pm.logp(one, parameters[one.name]).sum().eval(mode=FAST)) for one in free]
    np.testing.assert_allclose(each, [expected[one.name](parameters[one.name]) for one in free])
    for name in ("strength", "language", "language:length"):
        if name in parameters:
            np.testing.assert_allclose(parameters[name].sum(axis=0), 0, atol=1e-12)
    for one in (value for name, value in parameters.items() if name in ("language", "length", "1|source_offset")):
        np.testing.assert_allclose(one.sum(axis=-1), 0, atol=1e-12)


def test_what_is_asked_of_nobody_in_particular_has_the_mean_prevalence():
    for name in ("model_b", "item_difficulty"):
        model = make_model(name, "pairs")
        graph, samples = draw(model, 2)
        draws = complete(graph, samples)
        found = describe_annotators(ModelDraws(model, DATA, draws, {}))
        np.testing.assert_allclose(found["prevalence"], draws["prevalence"], atol=1e-7)
        np.testing.assert_allclose(found["accuracy"], draws["accuracy"], atol=1e-4)


def test_a_class_prior_is_a_value():
    model = make_model("mace", "sum")
    again = ba.get_model("mace", json.loads(json.dumps(model.to_fields())))
    assert again == model
    assert hash(again) == hash(model)
    assert repr(again) == repr(model)
    assert replace(model, class_prior="learnt") == ba.models.MACE()
