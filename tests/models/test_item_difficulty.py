"""Item difficulty: its integral, its forms, what is read off about items, and what it cannot learn."""

import re
import time
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit, logsumexp

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
    LABELS,
    P_VALUE,
    ROUND_TRIP,
    TINY,
    Graph,
    chi_square,
    close,
    joint_pmf,
    make_case,
    said_of,
    simulate,
    unconstrained,
)

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

ABLE = np.linspace(0.75, 0.97, 12)  # how often each of the simulated annotators is right on an easy item
CLICKERS = {"a3": "1", "a7": "1", "a11": "0"}  # who clicks what, nearly whatever the item is
QUIET = {"progressbar": False, "random_seed": 3}


def center(habit):
    """Rows that add up to 0."""
    return habit - habit.mean(axis=1, keepdims=True)


def odds_of(form, ability, difficulty):
    """Log-odds of being right, of three classes."""
    return {"chance": ability * np.exp(-difficulty) - np.log(2), "1pl": ability - difficulty}[form]


def integrate(form, ability, lean, log_share, spread, right):
    """Log of the integral over z of N(z) prod_j p(answer_j | z), given the class, by adaptive quadrature.

    Habits add `lean` to the log-odds of a right answer, and a wrong one has a share in the wrong ones: (annotation,).
    """

    def log_integrand(z):
        odds = odds_of(form, ability, spread * z) + lean
        return -(z**2) / 2 + np.where(right, log_expit(odds), log_expit(-odds) + log_share).sum()

    top = max(map(log_integrand, np.linspace(-9, 9, 361)))
    parts = [
        quad(lambda z: np.exp(log_integrand(z) - top), low, low + 1, epsabs=1e-12, epsrel=1e-8)[0]
        for low in range(-12, 12)
    ]
    return top + np.log(sum(parts) / np.sqrt(2 * np.pi))


@pytest.mark.parametrize("form", ["chance", "1pl"])
@pytest.mark.parametrize("annotators", ["typical", "extreme"])
def test_the_sum_over_nodes_is_the_integral(form, annotators, rng):
    """Of items of 2, 10 and 60 answers, easy, average and hard as the model has them, and of one in dispute."""
    sizes, hardness = np.array([2, 2, 2, 10, 10, 10, 60, 60, 60, 60]), np.append(np.tile([-1.5, 0.0, 1.5], 3), 0.0)
    item = np.repeat(np.arange(10), sizes)
    annotator = np.concatenate([np.arange(n) for n in sizes])
    ability = rng.normal(2, 1.5, 60) if annotators == "typical" else np.where(np.arange(60) % 2, 6.0, -3.0)
    prevalence, habit = np.array([0.5, 0.2, 0.3]), center(rng.normal(size=(60, 3)))
    log_others = np.log(np.exp(habit).sum(axis=1, keepdims=True) - np.exp(habit))  # (annotator, true_class)
    table = {"items": tuple("abcdefghij"), "annotators": tuple(f"a{j}" for j in range(60)), "labels": LABELS}
    graph = None
    for spread in (0.5, 1.0, 2.0):
        right = rng.uniform(size=item.size) < expit(odds_of(form, ability[annotator], spread * hardness[item]))
        right[item == 9] = annotator[item == 9] % 4 < 2
        data = ba.AnnotationData(item=item, annotator=annotator, label=np.where(right, 0, 2), **table)
        graph = Graph(ItemDifficulty(form=form), data) if graph is None else graph
        at = {"ability": ability, "spread": np.array(spread), "prevalence": prevalence, "habit": habit}
        found = graph.item_logp(at, data)
        for code in range(10 if annotators == "typical" else 9):  # of a dispute among the extreme, hardness is extreme
            said, who = data.label[item == code], annotator[item == code]
            by_class = [
                np.log(prevalence[k])
                + integrate(
                    form,
                    ability[who],
                    habit[who, k] - log_others[who, k] + np.log(2),
                    habit[who, said] - log_others[who, k],
                    spread,
                    said == k,
                )
                for k in range(3)
            ]
            assert abs(found[code] - np.logaddexp.reduce(by_class)) < 1e-3


@pytest.mark.parametrize("form", ["glad", "1pl", "2pl"])
def test_the_other_forms_are_those_of_the_reference(form, rng):
    case = make_case("item_difficulty", {"form": form})
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
    drawn = simulate(case.entry, case, parameters, case.designs.two_items(), rng)
    assert chi_square(drawn, joint_pmf(case, parameters)) > P_VALUE
    model, fields = case.graph.model, case.entry.to_fields()
    density = model.compile_logp(vars=model.free_RVs, jacobian=False, mode=FAST)
    log_prior = density(unconstrained(model, [parameters])[0])
    np.testing.assert_allclose(log_prior, case.reference.log_prior(parameters, fields), rtol=ROUND_TRIP)
    assert abs(log_prior - case.reference.log_prior(parameters, fields | {"slope_prior": 0.7})) > ROUND_TRIP


def test_with_two_classes_chance_is_glad(rng):
    data = ba.AnnotationData.from_records([("u", a, k) for a, k in zip("abcd", ("no", "yes", "no", "no"), strict=True)])
    at = {"ability": rng.normal(2, 1, 4), "spread": np.array(0.8), "prevalence": np.array([0.3, 0.7])}
    at["habit"] = center(rng.normal(size=(4, 2)))
    of_both = [Graph(ItemDifficulty(form=form), data).item_logp(at) for form in ("chance", "glad")]
    np.testing.assert_allclose(*of_both, rtol=1e-12)


@dataclass(frozen=True, kw_only=True)
class ByScores(ItemDifficulty):
    """Responses in proportion to exp(habit + [right] log odds): the same by another formula."""

    name: ClassVar[str] = "item_difficulty_by_scores"

    def log_answers(self, answers, p, z, slope):
        log_odds = self.log_odds(p, np.s_[:, None], z, slope, answers.n_classes)[:, None, None]
        score = p.habit[:, :, None, None] + answers.names_class.T[:, :, None] * log_odds
        return score - pt.log(pt.exp(score).sum(axis=1, keepdims=True))


def values_for(model, rng):
    """Parameters of three annotators and three labels."""
    values = {"ability": rng.normal(2, 1.5, 3), "spread": np.array(0.8), "prevalence": np.array([0.3, 0.5, 0.2])}
    values |= {"habit": center(rng.normal(size=(3, 3)))} if model.habits else {}
    return values | ({"slope_spread": np.array(0.4)} if model.form == "2pl" else {})


@pytest.mark.parametrize("form", ["chance", "2pl"])
def test_responses_are_in_proportion_to_habit_and_log_odds(form, rng):
    """By a model with answers of its own, which `log_answers` says; and of habits of 0 nothing is to be seen."""
    own, scores, none = ItemDifficulty(form=form), ByScores(form=form), ItemDifficulty(form=form, habits=False)
    at = values_for(own, rng)
    close(Graph(own, TINY).item_logp(at), Graph(scores, TINY).item_logp(at))
    at["habit"] = np.zeros((3, 3))
    close(Graph(own, TINY).item_logp(at), Graph(none, TINY).item_logp(at))


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
        gain = odds_of(form, at["ability"][annotator], 0.8 * z) + np.log(2)
        right = [expit(gain + habit[annotator, k] - logsumexp(np.delete(habit[annotator], k))) for k in range(3)]
        np.testing.assert_allclose(found[annotator], at["prevalence"] @ right @ weight, atol=1e-5)


def test_a_field_of_another_type_is_refused(refuses):
    with refuses(ModelError, "item_difficulty: habits is 'yes'"):
        ItemDifficulty(habits="yes")
    with refuses(ModelError, "item_difficulty: habit_prior is 0"):
        ItemDifficulty(habit_prior=0)


@pytest.fixture(scope="module")
def leaning():
    """A crowd with habits, three of whom hardly look at the items."""
    design = ba.make_design(items=200, annotators=12, labels=2, per_item=6, random_seed=1)
    rng = np.random.default_rng(8)
    habit = center(rng.normal(0, 0.7, (12, 2)))
    ability = rng.normal(2.5, 0.5, 12)
    for name, label in CLICKERS.items():
        code = design.annotators.index(name)
        habit[code], ability[code] = 3.0 * (np.arange(2) == design.labels.index(label)) - 1.5, 0.2
    known = {"ability": ability, "spread": 0.5, "prevalence": np.array([0.4, 0.6]), "habit": habit}
    return *ba.simulate("item_difficulty", design, parameters=known, random_seed=2), known


def test_habits_are_recovered(leaning):
    data, _, known = leaning
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws may be warned about
        fit = ba.fit("item_difficulty", data, draws=150, tune=200, chains=2, initvals="vote", check=False, **QUIET)
    habit = fit["posterior"]["habit"]
    np.testing.assert_allclose(habit.sum("response"), 0, atol=1e-9)
    own = habit.isel(response=1).stack(sample=("chain", "draw")).transpose("annotator", "sample").values
    low, high = np.quantile(own, [0.03, 0.97], axis=1)
    held = (low < known["habit"][:, 1]) & (known["habit"][:, 1] < high)
    assert held.sum() >= 9  # of 12; of intervals that hold .94 of the time, fewer once in 500 times
    means = dict(zip(data.annotators, own.mean(axis=1), strict=True))
    for name, label in CLICKERS.items():
        assert (means[name] > 0.75) == (label == data.labels[1])
    assert (fit["latent"]["probability"].values.argmax(axis=1) == data.gold_codes).mean() > 0.9


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


def test_one_answer_per_item_says_nothing_of_difficulty():
    records = [(f"i{n}", "ada" if n % 2 else "bo", "no" if n % 3 else "yes") for n in range(8)]
    data = ba.AnnotationData.from_records(records)
    (found,) = ItemDifficulty().findings(data)
    assert found.code == "difficulty-one-answer"
    assert list(ItemDifficulty().findings(TINY)) == []


@pytest.mark.parametrize("form", ["1pl", "2pl"])
def test_that_majorities_may_be_traps_is_said_of_two_classes(form):
    two = ba.AnnotationData.from_records(
        [("i", name, label) for name, label in zip("abc", ("no", "yes", "no"), strict=True)]
    )
    (found,) = ItemDifficulty(form=form).findings(two)
    assert found.code == "difficulty-wrong-majority"
    assert list(ItemDifficulty(form=form).findings(TINY)) == list(ItemDifficulty(form="glad").findings(two)) == []
