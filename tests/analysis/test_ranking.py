"""Rankings: what each column of their tables holds, computed again here from the draws."""

from itertools import combinations

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.fits.view import FitView
from bayesanno.report.page import render
from bayesanno.report.sections.findings import find_all
from bayesanno.report.sections.systems import rank_systems
from tests.analysis.made import from_prior

pytestmark = pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")  # chains are short
SYSTEMS = ("bloom", "cerebras", "llama", "opt", "pythia")
STRENGTH = np.array([0.2, -1.2, 1.3, -0.4, 0.1])
LABELS = ("first", "second", "tie")


@pytest.fixture(scope="module")
def data():
    """Three judges of 300 comparisons, who answer by chance."""
    rng = np.random.default_rng(3)
    pairs = np.array([rng.choice(5, 2, replace=False) for _ in range(300)])
    said = [(f"q{i}", f"judge {j}", LABELS[rng.integers(3)]) for j in range(3) for i in range(300)]
    columns = {side: [SYSTEMS[code] for code in pairs[:, at]] for at, side in enumerate(("first", "second"))}
    return ba.AnnotationData.from_records(said, labels=LABELS, item_columns=columns)


@pytest.fixture(scope="module")
def fit(data):
    rng = np.random.default_rng(1)

    def change(drawn):
        strength = rng.normal(STRENGTH, 0.3, size=(400, 5))
        drawn["strength"][0] = strength - strength.mean(axis=1, keepdims=True)

    return from_prior(ba.models.ModelB(class_prior=ba.Pairs()), data, 400, change)


@pytest.fixture(scope="module")
def draws(fit):
    """Strengths (sample, system) and the tie (sample,)."""
    posterior = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
    return posterior["strength"].transpose("sample", "system").values, posterior["tie"].values


def win(a, b, tie):
    """Davidson's model, a tie counting half."""
    first, second, even = np.exp(a), np.exp(b), np.exp(tie + (a + b) / 2)
    return (first + even / 2) / (first + second + even)


def test_a_ranking_is_a_table_of_the_draws(fit, data, draws):
    table, (strength, tie) = ba.ranking_table(fit).set_index("system"), draws
    assert table.index.tolist() == [SYSTEMS[code] for code in np.argsort(-strength.mean(axis=0))]
    ranks = (-strength).argsort(axis=1).argsort(axis=1) + 1
    for code, system in enumerate(SYSTEMS):
        row = table.loc[system]
        assert row["strength_mean"] == pytest.approx(strength[:, code].mean())
        assert row["strength_sd"] == pytest.approx(strength[:, code].std(ddof=1))
        assert row["strength_eti89_lb"] < row["strength_mean"] < row["strength_eti89_ub"]
        assert row["elo_mean"] == pytest.approx(1000 + 400 / np.log(10) * strength[:, code].mean())
        assert row["rank_mean"] == pytest.approx(ranks[:, code].mean())
        assert row["p_best"] == (ranks[:, code] == 1).mean()
        low, high = row["rank_eti89_lb"], row["rank_eti89_ub"]
        assert ((ranks[:, code] >= low) & (ranks[:, code] <= high)).mean() >= 0.89
        assert (ranks[:, code] < low).mean() < 0.055
        others = [other for other in range(5) if other != code]
        rates = np.mean([win(strength[:, code], strength[:, other], tie) for other in others], axis=0)
        assert row["win_rate_mean"] == pytest.approx(rates.mean())
        sides = [np.array(data.item_columns[side].names)[data.item] == system for side in ("first", "second")]
        assert row["n_answers"] == np.sum(sides)
    assert table["strength_mean"].sum() == pytest.approx(0, abs=1e-9)
    assert table["win_rate_mean"].mean() == pytest.approx(0.5)


def test_wins_are_of_every_pair_with_ties_taken_out_or_half(fit, draws):
    strength, tie = draws
    order = ba.ranking_table(fit)["system"].tolist()
    for ties in ("half", "out"):
        table = ba.win_table(fit, ties=ties)
        assert list(zip(table["first"], table["second"], strict=True)) == list(combinations(order, 2))
        for row in table.to_dict("records"):
            a, b = (strength[:, SYSTEMS.index(row[side])] for side in ("first", "second"))
            expected = win(a, b, tie if ties == "half" else -np.inf)
            assert row["mean"] == pytest.approx(expected.mean())
            assert row["p_stronger"] == (a > b).mean()
    assert ba.win_table(fit)["n_answers"].sum() == 900


def test_the_share_won_is_what_judges_like_these_say(fit, draws):
    """Against the sum over outcomes and answers in every draw."""
    posterior = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
    confusion = posterior["confusion"].mean("annotator").transpose("sample", "true_class", "response").values
    points = confusion @ np.array([1, 0, 0.5])  # (sample, outcome): all judges gave as many answers
    (strength, tie), expected = draws, {}
    for a, b in combinations(range(5), 2):
        weights = np.exp([strength[:, a], strength[:, b], tie + (strength[:, a] + strength[:, b]) / 2])
        first, second, even = weights / weights.sum(axis=0)
        in_order = first * points[:, 0] + second * points[:, 1] + even * points[:, 2]
        turned = second * points[:, 0] + first * points[:, 1] + even * points[:, 2]
        expected[a, b] = ((in_order + 1 - turned) / 2).mean()
    for row in ba.win_table(fit).to_dict("records"):
        a, b = (SYSTEMS.index(row[side]) for side in ("first", "second"))
        share = expected[a, b] if a < b else 1 - expected[b, a]
        assert row["share_won_mean"] == pytest.approx(share, abs=1e-9)
        assert abs(row["share_won_mean"] - 0.5) < abs(row["mean"] - 0.5)


def test_the_figure_and_the_section_name_the_strongest(fit):
    figure = ba.plot_ranking(fit)
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names[::-1] == ba.ranking_table(fit)["system"].tolist()
    page = render(FitView(fit), checks=False, random_seed=1)
    assert "llama is the strongest of 5 systems with a probability of" in page
    assert page.index("Leaderboard") < page.index("llama is the strongest")


def test_fits_without_systems_have_no_section(tiny_fit):
    assert rank_systems(find_all(FitView(tiny_fit), checks=False, random_seed=1)) is None
