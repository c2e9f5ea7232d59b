"""Item difficulty: its other forms, what is read off about items, and new items."""

import re
import time

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import FitError, counted
from bayesanno.analysis.difficulty import bound_bins
from bayesanno.cli.files import write_fit
from bayesanno.fits.view import view_of
from bayesanno.graph.functions import add_deterministics
from bayesanno.modeling.difficulty import bin_centres
from bayesanno.modeling.posterior import recover
from bayesanno.models import ItemDifficulty
from bayesanno.report.page import render
from tests.inference.draws import make_fit
from tests.models.contract import P_VALUE, ROUND_TRIP, TINY, chi_square, close, make_case
from tests.models.graphs import as_posterior

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of tiny data, each evaluated a few times

ABLE = np.linspace(0.75, 0.97, 12)  # how often each of the simulated annotators is right on an easy item


@pytest.mark.parametrize(
    "fields", [{"form": "glad"}, {"form": "1pl"}, {"form": "2pl"}, {"form": "2pl", "habits": False}], ids=str
)
def test_the_other_forms_are_those_of_the_reference(fields, rng):
    case = make_case("item_difficulty", fields)
    for parameters in case.draw(3, rng):
        close(case.graph.item_logp(parameters), case.item_logp(parameters, TINY))
        own_nodes = 1e-4 if case.entry.form == "2pl" else 1e-5  # how exact they are
        np.testing.assert_allclose(case.graph.accuracy(parameters), case.accuracy(parameters), rtol=own_nodes)


def test_slopes_have_the_prior_the_process_and_the_views_of_the_reference(rng):
    case = make_case("item_difficulty", {"form": "2pl"})
    samples = case.draw(2, rng)
    found = recover(case.entry, TINY, case.posterior(samples, n_chains=2), case.known).latent
    each = [case.views(one, TINY) for one in samples]
    for name in each[0]:
        close(found[name], np.mean([views[name] for views in each], axis=0))
    assert chi_square(case.simulate(case.entry, samples[0], rng), case.pmf(samples[0])) > P_VALUE
    log_prior = case.graph.prior_and_joint(case.graph.unconstrained(samples)[0])[0]
    np.testing.assert_allclose(log_prior, case.log_prior(samples[0]), rtol=ROUND_TRIP)
    assert abs(log_prior - case.log_prior(samples[0], slope_prior=0.7)) > ROUND_TRIP


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
    """Draws about what the annotators are able to do."""
    rng = np.random.default_rng(5)
    data, hard, truth = simulate_hard(rng)
    model = ItemDifficulty(habits=False, form="1pl")
    ability, near = np.log(ABLE / (1 - ABLE)), 0.3 * rng.normal(size=(40, 12))
    spread, prevalence = rng.uniform(1.2, 1.8, size=40), rng.dirichlet([50, 50, 50], size=40)
    samples = [{"ability": ability + near[i], "spread": spread[i], "prevalence": prevalence[i]} for i in range(40)]
    graph = model.build(data)
    return make_fit(model, data, add_deterministics(graph, as_posterior(graph, samples, 2))), data, hard, truth


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

    def test_an_item_without_answers_has_the_difficulty_of_all(self, simulated):
        fit = simulated[0]
        row = ba.difficulty_table(fit).set_index("item").loc["never asked"]
        spread = float(np.sqrt((fit["posterior"]["spread"] ** 2).mean()))
        assert abs(row["difficulty_mean"]) < 1e-6
        assert row["difficulty_sd"] == pytest.approx(spread, rel=0.02)
        assert row["expected_accuracy"] == pytest.approx(float(fit["posterior"]["accuracy"].mean()), rel=1e-6)

    def test_labels_have_theirs(self, simulated):
        fit, _, _, truth = simulated
        labels = ba.label_table(fit)
        assert labels["difficulty"].tolist() == fit["latent"]["difficulty"].values.tolist()
        right = labels["label"].to_numpy()[:-1] == np.array(["a", "b", "c"])[truth]
        assert right.mean() > 0.8

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

    def test_other_models_have_none(self, tiny_fit, refuses):
        with refuses(FitError, "items of model_b have no difficulty"):
            ba.difficulty_table(tiny_fit)


def test_new_items_have_a_difficulty(simulated):
    fit, data, *_ = simulated
    records = [("easy", name, "a") for name in data.annotators[:8]]
    records += [("hard", name, "abc"[j % 3]) for j, name in enumerate(data.annotators[:8])]
    found = ba.predict_labels(fit, ba.AnnotationData.from_records(records, labels=data.labels))
    assert found["difficulty"].is_monotonic_increasing
    assert found["difficulty"].iloc[0] < 0 < found["difficulty"].iloc[1]
