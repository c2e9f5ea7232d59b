"""Model A against the tables of its paper, its tables of a fit, and what it cannot take.

The paper is Rzhetsky, Shatkay and Wilbur (2009), supplement, sections 6 to 8. That the formula is the sum over who is
right is in the contract, and `tests/inference/test_modes.py` has the modes of Tables 10 and 16.
"""

import itertools

import numpy as np
import pymc as pm
import pytest

import bayesanno as ba
from bayesanno import AnnotationData
from bayesanno._core.messages import DataError, FitError
from bayesanno.modeling.arguments import NONE_OF_THESE
from bayesanno.modeling.posterior import recover
from bayesanno.models._correctness import process
from bayesanno.models.model_a import ModelA
from tests.inference.draws import make_fit
from tests.models import oracles_model_a as oracle
from tests.models.graphs import Graph, as_posterior
from tests.models.references_model_a import model_a_states

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

DIGITS = 1e-6  # the paper's log-likelihoods have six decimals, and so has Table 8
SIGMAS = 4
LABELS = ("1", "2", "3")
TRIPLETS = ["".join(cell) for cell in itertools.product(LABELS, repeat=3)]  # each possible answer, as in Table 9


def items_of(answers, labels=LABELS):
    """An item per string of answers, the first by i, the next by j, and so on."""
    rows = [(said, "ijklmnop"[at], label) for said in answers for at, label in enumerate(said)]
    return AnnotationData.from_records(rows, labels=labels)


def listed(said, states):
    """States as tables list them: labels in order of first appearance, then none of them; the rest is impossible."""
    said = list(dict.fromkeys(said))
    assert not np.delete(states, [*said, len(states) - 1]).any()
    return states[[*said, -1]]


# ------------------------------------------------------------------------------------------------- the formula


def cells_of(omega, **fields):
    graph = Graph(ModelA(**fields), items_of(TRIPLETS))
    pm.set_data({"frequency": np.array(omega)}, graph.model)
    return lambda theta: graph.item_logp({"accuracy": np.array(theta)})


def test_table_9_to_all_digits():
    """The printed probabilities are those of `unnormalised`, not of Table 4."""
    cells = np.exp(cells_of(oracle.OMEGA, alpha="unnormalised")(oracle.THETA))
    assert tuple(oracle.TABLE9) == tuple(TRIPLETS)
    assert [float(f"{p:.5g}") for p in cells] == [p for p, _ in oracle.TABLE9.values()]
    assert cells.sum() == pytest.approx(1, rel=1e-12)
    by_table_4 = dict(zip(TRIPLETS, np.exp(cells_of(oracle.OMEGA)(oracle.THETA)), strict=True))
    for name, expected in oracle.TABLE9_NORMALISED.items():
        assert by_table_4[name] == pytest.approx(expected, rel=0, abs=1e-9)


def test_table_10_is_likelihood_times_a_prior():
    """Its caption says maximum likelihood; each value holds the Beta(2, 1) priors of eq. 5."""
    item_logp, counts = cells_of(oracle.POOLED), [n for _, n in oracle.TABLE9.values()]
    for printed, theta, exact in oracle.TABLE10:
        found = counts @ item_logp(theta) + np.log(2 * np.array(theta)).sum()
        assert found == pytest.approx(printed, rel=0, abs=exact)


def test_items_of_any_number_of_annotators():
    entry, data = (
        ModelA(frequency="shared"),
        items_of(["".join(map(str, row.said)) for row in oracle.ROWS], list("0123")),
    )
    parameters = {"accuracy": np.array(oracle.TH8), "frequency": np.array(oracle.W4)}
    found = recover(entry, data, as_posterior(entry.build(data), [parameters]))
    np.testing.assert_allclose(np.exp(found.log_likelihood[0, 0]), [row.probability for row in oracle.ROWS], rtol=1e-12)
    for row, states in zip(oracle.ROWS, found.latent["probability"].values, strict=True):
        np.testing.assert_allclose(listed(row.said, states), row.posterior, rtol=0, atol=1e-11)
        assert row.posterior[-1] > 0 or states[-1] == 0  # of as many labels, all said, a wrong one has none left


# ------------------------------------------------------------------------------------------------- tables of a fit


@pytest.fixture(scope="module")
def table9():
    return ba.read_annotations("@table9")


@pytest.fixture(scope="module")
def fit(table9):
    """Draws near the mode of Table 10, of which the first is its first row."""
    drawn = oracle.TABLE10_MODES[0][0] + 0.01 * np.random.default_rng(1).normal(size=(8, 3))
    samples = [{"accuracy": theta} for theta in (np.array(oracle.TABLE10[0][1]), *drawn[1:])]
    return make_fit(ModelA(), table9, as_posterior(ModelA().build(table9), samples, 2))


@pytest.mark.filterwarnings("ignore:invalid value")  # in R-hat of draws that are all the same
def test_table_8_is_the_table_of_correctness(table9):
    data = items_of(oracle.TABLE8)
    draw = {"accuracy": np.array(oracle.TABLE10[0][1]), "frequency": np.array(oracle.POOLED)}
    model = ModelA(frequency="shared")
    exact = make_fit(model, data, as_posterior(model.build(data), [draw] * 8, 2))
    for said, expected in oracle.TABLE8.items():
        table = ba.analysis.correctness_table(exact, [said])
        assert table.columns.tolist() == ["item", "pattern", "label", "probability", "annotators"]
        assert set(table["annotators"]) == {"i j k"}
        states = [*dict.fromkeys(said), NONE_OF_THESE]
        assert len(table) == len(states)
        np.testing.assert_allclose(table.set_index("label")["probability"].loc[states], expected, rtol=0, atol=DIGITS)
        for row in table.itertuples():
            assert row.pattern == "".join("C" if label == row.label else "I" for label in said)
        assert table["probability"].is_monotonic_decreasing  # eq. 6
    np.testing.assert_allclose(ModelA().fixed_parameters(table9)["frequency"].value, oracle.POOLED, rtol=1e-14)


def test_a_correctness_table_is_of_whichever_items_are_asked_for(fit, tiny_fit, refuses):
    table = ba.analysis.correctness_table(fit, ["7", "3"])
    assert list(dict.fromkeys(table["item"])) == ["7", "3"]
    for of, items, options, match in (
        (fit, ["1", "10001"], {}, "'10001' is not in this fit, which has 10000"),
        (fit, ["1"], {"dimension": "focus"}, "no dimensions: leave out dimension='focus'"),
        (tiny_fit, [], {}, "model_b has no correctness patterns"),
    ):
        with refuses(FitError, match):
            ba.analysis.correctness_table(of, items, **options)


def test_label_table_spreads_what_nobody_said_over_the_other_labels(fit, table9):
    table = ba.label_table(fit)
    p, states = table[["p[1]", "p[2]", "p[3]"]].to_numpy(), fit["latent"]["probability"].values
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(table["p_none"], states[:, -1])
    assert (table["p_none"][(table9.votes > 0).all(axis=1)] == 0).all()
    assert table["p_none"].max() > 0.05
    assert table["label"].tolist() == [LABELS[k] for k in p.argmax(axis=1)]


NEW = {  # item -> who says what: more 1s and fewer 3s than in the fit
    "all": [("i", "1"), ("j", "1"), ("k", "1")],
    "one": [("j", "2")],
    "differ": [("k", "3"), ("j", "1"), ("i", "2")],
    "twice": [("k", "1"), ("k", "1"), ("j", "2")],
}


def test_new_items_are_labelled_with_the_frequencies_of_the_fit(fit, refuses):
    records = [(item, who, label) for item, said in NEW.items() for who, label in said]
    new = AnnotationData.from_records(records, labels=LABELS)
    table = ba.predict_labels(fit, new).set_index("item")

    def expected(item, omega):
        said = [LABELS.index(label) for _, label in NEW[item]]
        who = ["ijk".index(name) for name, _ in NEW[item]]
        joint = [
            model_a_states(theta[who], said, omega) for theta in fit["posterior"]["accuracy"].values.reshape(-1, 3)
        ]
        states = np.sum(joint, axis=0) / np.sum(joint)  # draws weigh as much as they give to the answers
        others = np.delete(np.array(omega), said)
        states[[k for k in range(3) if k not in said]] = states[-1] * others / others.sum()
        return states  # labels, none of these

    own, off = np.bincount(new.label) / new.n_annotations, []
    for item in NEW:
        found = table.loc[item, ["p[1]", "p[2]", "p[3]", "p_none"]].to_numpy(dtype=float)
        np.testing.assert_allclose(found, expected(item, oracle.POOLED), rtol=1e-10, atol=1e-14)
        off.append(np.abs(found - expected(item, own)).max())
    assert max(off) > 0.01
    nine = AnnotationData.from_records([("busy", who, label) for who in "ijk" for label in LABELS])
    with refuses(DataError, "'busy' has 9 annotations"):
        ba.predict_labels(fit, nine)


# ------------------------------------------------------------------------------------------------- what is refused


def answered(n, labels):
    """Three items that annotators a0, a1, ... answer, and one that n of them answer."""
    rows = [(f"s{i}", f"a{j}", labels[(i + j) % len(labels)]) for i in range(3) for j in range(3)]
    return AnnotationData.from_records([*rows, *((f"of {n}", f"a{j}", labels[0]) for j in range(n))], labels=("x", "y"))


IMPOSSIBLE = {  # and what is next to it, which is not refused
    "nine": ({}, answered(9, "xy"), "'of 9' has 9 annotations: it can have at most 8", {}, answered(8, "xy")),
    "two": (
        *({"alpha": "unnormalised"}, answered(2, "xy"), r"'of 2' has 2 annotations: it can have three \(or none\)"),
        *({"alpha": "unnormalised"}, answered(3, "xy")),
    ),
    "four": ({"alpha": "unnormalised"}, answered(4, "xy"), "'of 4' has 4 annotations", {}, answered(4, "xy")),
    "one label": (
        *({}, answered(3, "x"), r"every annotation says 'x': .*\(frequency='shared'\)"),
        *({"frequency": "shared"}, answered(3, "x")),
    ),
}


@pytest.mark.parametrize("why", IMPOSSIBLE)
def test_what_it_cannot_be_fitted_to_is_refused(refuses, why):
    fields, data, match, with_these, nearly = IMPOSSIBLE[why]
    with refuses(DataError, match):
        ba.fit(ModelA(**fields), data)
    ModelA(**with_these).check(nearly)


# ------------------------------------------------------------------------------------------------- simulation


def test_simulated_items_have_no_gold_where_nobody_said_the_truth():
    theta = np.array([0.2, 0.4, 0.6, 0.3])
    design = ba.simulation.make_loop_design(items=3000, annotators=4, labels=LABELS)
    data, truth = ba.simulate("model_a", design, parameters={"accuracy": theta}, random_seed=1)
    assert truth["frequency"].dims == ("response",)  # "empirical" takes them from data, and there are none yet
    said = data.label.reshape(-1, 3)
    gold = np.array([data.labels.index(data.gold[item]) if item in data.gold else -1 for item in data.items])
    right = said == gold[:, None]  # (item, slot)
    assert (right.any(axis=1) == (gold >= 0)).all()

    nobody = (1 - theta[design.annotator]).reshape(-1, 3).prod(axis=1)
    error = np.sqrt((nobody * (1 - nobody)).sum())
    assert abs((gold < 0).sum() - nobody.sum()) < SIGMAS * error


def test_a_known_label_is_the_truth_whether_or_not_somebody_says_it(refuses, monkeypatch):
    design = ba.simulation.make_loop_design(items=200, annotators=4, labels=LABELS)
    known = AnnotationData(
        item=design.item, annotator=design.annotator, label=design.label,
        items=design.items, annotators=design.annotators, labels=LABELS,
        controls=dict.fromkeys(design.items[:100], "1"),
    )  # fmt: skip
    given = {"accuracy": np.full(4, 0.4), "frequency": [0.3, 0.3, 0.4]}
    data, _ = ba.simulate("model_a", known, parameters=given, random_seed=1)
    said = [set(row) for row in data.label.reshape(-1, 3)]
    of_known = [data.gold.get(item) for item in data.items[:100]]
    assert set(of_known) == {"1", None}
    assert all((gold == "1") or (gold is None and 0 not in who) for gold, who in zip(of_known, said[:100], strict=True))

    monkeypatch.setattr(process, "TRIES", 200)
    with refuses(DataError, "200 simulations had another truth"):
        ba.simulate("model_a", known, parameters=given | {"frequency": [0.0, 0.5, 0.5]}, random_seed=1)
