"""Item difficulty: its integral, its forms, what is read off about items, and what it cannot learn."""

import re
import time
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.special import expit, logsumexp

import bayesanno as ba
from bayesanno._core.errors import ConvergenceWarning, FitError, ModelError
from bayesanno._core.wording import counted
from bayesanno.analysis.difficulty import bound_bins
from bayesanno.cli.files import write_fit
from bayesanno.fits.view import view_of
from bayesanno.modeling.difficulty import bin_centres
from bayesanno.modeling.posterior import recover
from bayesanno.models import ItemDifficulty
from bayesanno.report.page import render
from tests.models.contract import (
    FAST,
    P_VALUE,
    ROUND_TRIP,
    TINY,
    Graph,
    chi_square,
    close,
    make_case,
    said_of,
    unconstrained,
)

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

ABLE = np.linspace(0.75, 0.97, 12)  # how often each of the simulated annotators is right on an easy item
QUIET = {"progressbar": False, "random_seed": 3}


def center(habit):
    """Rows that add up to 0."""
    return habit - habit.mean(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "fields", [{"form": "glad"}, {"form": "1pl"}, {"form": "2pl"}, {"form": "2pl", "habits": False}], ids=str
)
def test_the_other_forms_are_those_of_the_reference(fields, rng):
    case = make_case("item_difficulty", fields)
    for parameters in case.draw(3, rng):
        close(case.graph.item_logp(parameters), case.item_logp(parameters, TINY))


def test_slopes_are_summed_out_of_what_is_read_off(rng):
    case = make_case("item_difficulty", {"form": "2pl"})
    samples = case.draw(4, rng)
    found = recover(case.entry, TINY, case.posterior(samples, n_chains=2), case.known).latent
    joint = [case.states(one, TINY) for one in samples]
    for name, view in case.reference.views.items():
        for item, known in enumerate(TINY.control_codes):
            said = said_of(TINY, item)
            each = [view(case.whole(one), said, of[item], known) for one, of in zip(samples, joint, strict=True)]
            close(found[name].values[item], np.mean(each, axis=0))


@pytest.mark.parametrize("habits", [True, False])
def test_slopes_have_the_prior_and_the_process_of_the_reference(habits, rng):
    case = make_case("item_difficulty", {"form": "2pl", "habits": habits})
    (parameters,) = case.draw(1, rng)
    assert chi_square(case.simulate(case.entry, parameters, rng), case.pmf(parameters)) > P_VALUE
    model, fields = case.graph.model, case.entry.to_fields()
    density = model.compile_logp(vars=model.free_RVs, jacobian=False, mode=FAST)
    log_prior = density(unconstrained(model, [parameters])[0])
    np.testing.assert_allclose(log_prior, case.reference.log_prior(parameters, fields), rtol=ROUND_TRIP)
    assert abs(log_prior - case.reference.log_prior(parameters, fields | {"slope_prior": 0.7})) > ROUND_TRIP


def values_for(model, rng):
    """Parameters of three annotators and three labels."""
    values = {"ability": rng.normal(2, 1.5, 3), "spread": np.array(0.8), "prevalence": np.array([0.3, 0.5, 0.2])}
    values |= {"habit": center(rng.normal(size=(3, 3)))} if model.habits else {}
    return values | ({"slope_spread": np.array(0.4)} if model.form == "2pl" else {})


@pytest.mark.parametrize("habits", [True, False])
@pytest.mark.parametrize("form", ["chance", "1pl"])
def test_accuracy_is_that_of_an_item_drawn_from_all(form, habits, rng):
    model = ItemDifficulty(form=form, habits=habits)
    at = values_for(model, rng)
    graph = Graph(model, TINY).model
    (found,) = pm.draw([pm.do(graph, at)["accuracy"]], mode=FAST)
    z = np.linspace(-8, 8, 401)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    habit = at.get("habit", np.zeros((3, 3)))
    for annotator in range(3):
        ability, difficulty = at["ability"][annotator], 0.8 * z
        gain = ability * np.exp(-difficulty) if form == "chance" else ability - difficulty + np.log(2)  # over guessing
        right = [expit(gain + habit[annotator, k] - logsumexp(np.delete(habit[annotator], k))) for k in range(3)]
        np.testing.assert_allclose(found[annotator], at["prevalence"] @ right @ weight, atol=1e-5)


def test_a_field_of_another_type_is_refused(refuses):
    with refuses(ModelError, "item_difficulty: habits is 'yes'"):
        ItemDifficulty(habits="yes")
    with refuses(ModelError, "item_difficulty: habit_prior is 0"):
        ItemDifficulty(habit_prior=0)


def test_the_interval_of_a_normal():
    centres = bin_centres()
    density = np.exp(-((centres - 0.4) ** 2) / 2)
    # a normal in bins, and all in the last bin
    rows = np.stack([density / density.sum(), np.eye(centres.size)[-1]])
    low, high = bound_bins(rows, centres, 0.94)
    assert [low[0], high[0]] == pytest.approx([0.4 - 1.881, 0.4 + 1.881], abs=0.02)
    assert centres[-1] - 0.125 <= low[1] < high[1] <= centres[-1] + 0.125


def simulate_hard(rng, n_items=100, per_item=6):
    """Items that are hard one time in three; few annotators of many answers."""
    truth, hard = rng.integers(3, size=n_items), rng.uniform(size=n_items) < 1 / 3
    records = []
    for i in range(n_items):
        for j in rng.choice(ABLE.size, per_item, replace=False):
            right = rng.uniform() < (0.45 if hard[i] else ABLE[j])
            records.append((f"i{i}", f"a{j:02}", "abc"[truth[i] if right else (truth[i] + rng.integers(1, 3)) % 3]))
    items = [*(f"i{i}" for i in range(n_items)), "never asked"]
    return ba.AnnotationData.from_records(records, items=items, labels=("a", "b", "c")), hard, truth


@pytest.fixture(scope="module")
def simulated():
    data, hard, truth = simulate_hard(np.random.default_rng(5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws may be warned about
        fit = ba.fit("item_difficulty", data, draws=150, tune=150, chains=2, **QUIET)
    return fit, data, hard, truth


class TestTable:
    def test_the_hard_items_come_first(self, simulated):
        fit, data, hard, _ = simulated
        table = ba.difficulty_table(fit)
        assert sorted(table["item"]) == sorted(data.items)
        assert table["difficulty_mean"].is_monotonic_decreasing
        is_hard = dict(zip(data.items, [*hard, False], strict=True))
        first = table["item"].head(hard.sum()).map(is_hard)
        assert first.mean() > 2 * hard.mean()  # twice as often as by chance
        asked = table[table["n_annotations"] > 0]
        by_hard = asked.groupby(asked["item"].map(is_hard))["expected_accuracy"].mean()
        assert by_hard[True] < 0.7 < by_hard[False]

    def test_intervals_hold_the_mean_and_fit_the_deviation(self, simulated):
        table = ba.difficulty_table(simulated[0])
        low, high, mean = (table[f"difficulty_{what}"] for what in ("eti89_lb", "eti89_ub", "mean"))
        assert ((low < mean) & (mean < high)).all()
        ratio = (high - low) / table["difficulty_sd"]
        assert ((ratio > 2.8) & (ratio < 3.6)).all()  # 3.20 of a normal

    def test_an_item_without_answers_has_the_difficulty_of_all(self, simulated):
        fit = simulated[0]
        row = ba.difficulty_table(fit).set_index("item").loc["never asked"]
        spread = float(np.sqrt((fit["posterior"]["spread"] ** 2).mean()))
        assert abs(row["difficulty_mean"]) < 1e-6
        assert row["difficulty_sd"] == pytest.approx(spread, rel=0.02)
        assert row["expected_accuracy"] == pytest.approx(float(fit["posterior"]["accuracy"].mean()), rel=1e-6)

    def test_labels_and_annotators_have_theirs(self, simulated):
        fit, _, hard, truth = simulated
        labels, annotators = ba.label_table(fit), ba.annotator_table(fit).set_index("annotator")
        assert labels["difficulty"].tolist() == fit["latent"]["difficulty"].values.tolist()
        right = labels["label"].to_numpy()[:-1] == np.array(["a", "b", "c"])[truth]
        assert right.mean() > 0.8
        expected = np.where(hard, 0.45, ABLE[:, None]).mean(axis=1)  # (annotator,), of all items
        order = [f"a{j:02}" for j in range(ABLE.size)]
        low, high = (annotators.loc[order, f"competence_eti89_{end}"] for end in ("lb", "ub"))
        held = (low < expected) & (expected < high)
        assert held.sum() >= 9  # of 12; of intervals that hold .94 of the time, fewer once in 500 times

    def test_a_run_writes_it_and_the_report_names_the_hardest(self, simulated, tmp_path):
        fit = simulated[0]
        run = write_fit(fit, tmp_path, began=time.perf_counter())
        assert "difficulty.csv" in run["files"]
        table = ba.difficulty_table(fit)
        assert pd.read_csv(tmp_path / "difficulty.csv")["item"].tolist() == table["item"].tolist()
        page = render(view_of(fit), checks=False, random_seed=1)
        n_hard = (table["difficulty_eti89_lb"] > 0).sum()
        many = f"{counted(n_hard, 'item')} {'is' if n_hard == 1 else 'are'}" if n_hard else "No item is"
        assert f"{many} harder than the average item" in page
        (hardest,) = re.findall(r"<caption>The hardest items</caption>.*?<td>(.*?)</td>", page, re.DOTALL)
        assert hardest == table["item"][0]

    def test_other_models_have_none(self, refuses):
        fit = ba.fit("one_coin", TINY, method="vb", **QUIET)
        with refuses(FitError, "the items of one_coin have no difficulty: fit item_difficulty"):
            ba.difficulty_table(fit)


def test_new_items_have_a_difficulty(simulated):
    fit, data, *_ = simulated
    records = [("easy", name, "a") for name in data.annotators[:8]]
    records += [("hard", name, "abc"[j % 3]) for j, name in enumerate(data.annotators[:8])]
    found = ba.predict_labels(fit, ba.AnnotationData.from_records(records, labels=data.labels))
    assert found["difficulty"].is_monotonic_increasing
    assert found["difficulty"].iloc[0] < 0 < found["difficulty"].iloc[1]
