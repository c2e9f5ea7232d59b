"""Model A from fit to tables: the posterior of Table 10, who is right, labels that nobody said."""

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno import AnnotationData
from bayesanno._core.errors import DataError, FitError
from bayesanno.fits.view import view_of
from bayesanno.modeling.latents import NONE_OF_THESE
from bayesanno.modeling.posterior import recover
from bayesanno.models._correctness import process
from bayesanno.models.model_a import ModelA
from tests.models import oracles_model_a as oracle
from tests.models.references_model_a import model_a_states

SETTINGS = {"draws": 500, "tune": 300, "chains": 4, "random_seed": 1, "progressbar": False, "check": False}
MODE = np.array(oracle.TABLE10_MODES[0][0])
DIGITS = 1e-6  # Table 8 is recomputed to six decimals
SIGMAS = 4
LABELS = ("1", "2", "3")


@pytest.fixture(scope="module")
def table9():
    return ba.read_annotations("@table9")


@pytest.fixture(scope="module")
def fit(table9):
    return ba.fit("model_a", table9, **SETTINGS)


def at(fit, theta):
    """A fit whose only draw is this."""
    one = fit["posterior"].to_dataset().isel(chain=[0], draw=[0])
    one["accuracy"] = (("chain", "draw", "annotator"), np.reshape(theta, (1, 1, 3)))
    latent = recover(ba.model_of(fit), ba.data_of(fit), one, view_of(fit).known).latent
    groups = {name: fit[name].to_dataset() for name in ("observed_data", "constant_data")}
    tree = xr.DataTree.from_dict({**groups, "posterior": one, "latent": latent})
    tree.attrs = dict(fit.attrs)
    return tree


def item_that_says(data, said):
    """The name of the first item to which i, j and k answered so."""
    rows = data.label.reshape(-1, 3)  # in the order of annotators
    assert (data.annotator.reshape(-1, 3) == [0, 1, 2]).all()
    return data.items[int((rows == [int(digit) - 1 for digit in said]).all(axis=1).argmax())]


# ------------------------------------------------------------------------------------------------- the posterior


def test_intervals_hold_the_mode_of_table_10_not_the_simulated_truth(fit):
    """The counts were made with unnormalised alphas, so that the truth of the simulation is not where this model is."""
    table = ba.annotator_table(fit).set_index("annotator")
    low, high = table["competence_eti89_lb"].to_numpy(), table["competence_eti89_ub"].to_numpy()
    assert table.index.tolist() == ["i", "j", "k"]
    assert ((low < MODE) & (high > MODE)).all()
    assert ((low > oracle.THETA) | (high < oracle.THETA)).all()
    assert (high - low < 0.08).all()
    assert table["n_annotations"].tolist() == [10_000] * 3
    found = ba.diagnostics_of(fit)
    assert found["divergences"] == 0
    assert found["max_rhat"] <= 1.01


# ------------------------------------------------------------------------------------------------- who is right


def test_table_8_is_the_table_of_correctness(fit, table9):
    exact = at(fit, oracle.TABLE10[0][1])
    for said, expected in oracle.TABLE8.items():
        table = ba.analysis.correctness_table(exact, [item_that_says(table9, said)])
        assert table.columns.tolist() == ["item", "pattern", "label", "probability", "annotators"]
        assert set(table["annotators"]) == {"i j k"}
        states = [*dict.fromkeys(said), NONE_OF_THESE]
        found = table.set_index("label")["probability"].loc[states]
        np.testing.assert_allclose(found, expected, rtol=0, atol=DIGITS)
        assert len(table) == len(states)
        for row in table.itertuples():
            assert row.pattern == "".join("C" if label == row.label else "I" for label in said)
        first = table.iloc[0]  # eq. 6
        assert first["probability"] == table["probability"].max()
        assert first["label"] == states[int(np.argmax(expected))]


def test_a_correctness_table_is_of_whichever_items_are_asked_for(fit, tiny_fit, refuses):
    table = ba.analysis.correctness_table(fit, ["7", "3"])
    assert list(dict.fromkeys(table["item"])) == ["7", "3"]
    with refuses(FitError, "item '10001' is not in this fit, which has 10000, '1' first"):
        ba.analysis.correctness_table(fit, ["1", "10001"])
    with refuses(FitError, "this fit has no dimensions: leave out dimension='focus'"):
        ba.analysis.correctness_table(fit, ["1"], dimension="focus")
    with refuses(FitError, "model_b has no correctness patterns: fit model_a"):
        ba.analysis.correctness_table(tiny_fit)


# ------------------------------------------------------------------------------------------------- labels


def test_label_table_spreads_what_nobody_said_over_the_other_labels(fit, table9):
    table = ba.label_table(fit)
    assert table.columns.tolist() == [
        "item", "label", "probability", "entropy", "n_annotations", "p[1]", "p[2]", "p[3]", "weight", "agreement",
        "p_none",
    ]  # fmt: skip
    p, states = table[["p[1]", "p[2]", "p[3]"]].to_numpy(), fit["latent"]["probability"].values
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(table["p_none"], states[:, -1])
    np.testing.assert_array_equal(p, fit["latent"]["label_probability"])
    said = np.zeros_like(p)
    said[table9.item, table9.label] = 1
    assert (table["p_none"][said.sum(axis=1) == 3] == 0).all()
    assert table["p_none"].max() > 0.05
    assert table["label"].tolist() == [LABELS[k] for k in p.argmax(axis=1)]


NEW = {  # item -> who says what: more 1s and fewer 3s than in the fit
    "all": [("i", "1"), ("j", "1"), ("k", "1")],
    "two": [("i", "1"), ("k", "2")],
    "one": [("j", "2")],
    "differ": [("k", "3"), ("j", "1"), ("i", "2")],
    "twice": [("k", "1"), ("k", "1"), ("j", "2")],
}


def test_new_items_are_labelled_with_the_frequencies_of_the_fit(fit):
    few = fit.isel(draw=slice(None, None, 50))
    records = [(item, who, label) for item, said in NEW.items() for who, label in said]
    new = AnnotationData.from_records(records, labels=LABELS)
    table = ba.predict_labels(few, new).set_index("item")

    def expected(item, omega):
        said = [LABELS.index(label) for _, label in NEW[item]]
        who = ["ijk".index(name) for name, _ in NEW[item]]
        joint = [
            model_a_states(theta[who], said, omega) for theta in few["posterior"]["accuracy"].values.reshape(-1, 3)
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


def test_new_items_that_the_model_cannot_take_are_refused(fit, refuses):
    nine = AnnotationData.from_records([("busy", who, label) for who in "ijk" for label in LABELS])
    with refuses(DataError, "model_a: item 'busy' has 9 annotations: it can have at most 8"):
        ba.predict_labels(fit, nine)


# ------------------------------------------------------------------------------------------------- what is refused


def answered(n, labels):
    """Three items that annotators a0, a1, ... answer, and one that n of them answer."""
    rows = [(f"s{i}", f"a{j}", labels[(i + j) % len(labels)]) for i in range(3) for j in range(3)]
    return AnnotationData.from_records([*rows, *((f"of {n}", f"a{j}", labels[0]) for j in range(n))], labels=("x", "y"))


IMPOSSIBLE = {
    "nine": ({}, answered(9, "xy"), "model_a: item 'of 9' has 9 annotations: it can have at most 8; leave some out"),
    "nine, own frequencies": ({"frequency": "annotator"}, answered(9, "xy"), "item 'of 9' has 9 .* at most 8"),
    "two, unnormalised": (
        {"alpha": "unnormalised"}, answered(2, "xy"),
        r"model_a: item 'of 2' has 2 annotations: it can have three \(or none\) with alpha='unnormalised'",
    ),
    "four, unnormalised": ({"alpha": "unnormalised"}, answered(4, "xy"), "item 'of 4' has 4 annotations: .*three"),
    "one label": ({}, answered(3, "x"), r"every annotation says 'x': .*learn the frequencies \(frequency='shared'\)"),
}  # fmt: skip


@pytest.mark.parametrize("why", IMPOSSIBLE)
def test_what_it_cannot_be_fitted_to_is_refused(refuses, why):
    fields, data, match = IMPOSSIBLE[why]
    with refuses(DataError, match):
        ba.fit(ModelA(**fields), data)


def test_what_is_next_to_the_limits_is_not_refused():
    for fields, data in (
        ({}, answered(8, "xy")),
        ({"alpha": "unnormalised"}, answered(3, "xy")),
        ({"frequency": "shared"}, answered(3, "x")),
    ):
        ModelA(**fields).check(data)
        ModelA(**fields).fixed_parameters(data)


# ------------------------------------------------------------------------------------------------- simulation


def test_simulated_items_have_no_gold_where_nobody_said_the_truth():
    theta = np.array([0.2, 0.4, 0.6, 0.3])
    design = ba.simulation.make_loop_design(items=3000, annotators=4, labels=LABELS)
    data, truth = ba.simulate("model_a", design, parameters={"accuracy": theta}, random_seed=1)
    assert truth["frequency"].dims == ("response",)  # "empirical" takes them from data, and there are none yet
    assert truth["frequency"].values.sum() == pytest.approx(1)
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
    assert {data.gold.get(item) for item in data.items[100:]} == {"1", "2", "3", None}

    monkeypatch.setattr(process, "TRIES", 200)
    with refuses(DataError, "a known label is so improbable that 200 simulations had another truth"):
        ba.simulate("model_a", known, parameters=given | {"frequency": [0.0, 0.5, 0.5]}, random_seed=1)
