"""Rankings of comparisons in both orders, in subsets, of judges without errors, and what is asked next of them."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.fits.view import FitView
from bayesanno.modeling.class_prior import log_classes_of_items, weights_of
from bayesanno.report.page import render
from tests.analysis.made import from_prior
from tests.models.graphs import FAST, compile_unconstrained

SYSTEMS, STRENGTH = list("vwxyz"), np.array([1.0, 0.5, 0.0, -0.5, -1.0])
FIRST = {"fair": 0.0, "mild": 0.2, "strong": 0.6, "second": -0.4}  # how much more often the first than the second
PAIRS = ba.Pairs(first="model_a", second="model_b")
OF_PAIRS = {"pairs": "model_a,model_b"}


def compare(rng, n, judges=FIRST, strength=STRENGTH, right=0.9):
    """Judges compare answers to n questions, each in an order of its own: a table of an arena."""
    rows = []
    for q in range(n):
        a, b = rng.choice(len(strength), 2, replace=False)
        better = a if rng.random() < 1 / (1 + np.exp(strength[b] - strength[a])) else b
        for judge, bias in judges.items():
            first, second = (a, b) if rng.random() < 0.5 else (b, a)
            p = np.clip((right if first == better else 1 - right) + bias / 2, 0, 1)
            winner = "model_a" if rng.random() < p else "model_b"
            rows.append((f"q{q}", "math" if q % 2 else "code", SYSTEMS[first], SYSTEMS[second], judge, winner))
    return pd.DataFrame(rows, columns=["question_id", "category", "model_a", "model_b", "judge", "winner"])


def _read(table, **options):
    return ba.read_annotations(table.drop(columns="category"), **OF_PAIRS, **options)


@pytest.fixture(scope="module")
def fit():
    """Draws in which strengths and judges are those of the simulation."""
    data, rng = _read(compare(np.random.default_rng(4), 100)), np.random.default_rng(1)
    bias = np.array([FIRST[judge] for judge in data.annotators])[:, None]

    def change(drawn):
        strength = rng.normal(STRENGTH, 0.1, size=(80, 5))
        drawn["strength"][0] = strength - strength.mean(axis=1, keepdims=True)
        first = np.clip([0.9, 0.1] + bias / 2, 0.01, 1) * rng.uniform(0.9, 1, size=(80, 4, 2))  # (draw, judge, better)
        drawn["confusion"][0] = np.stack([first, 1 - first], axis=-1)

    return from_prior(ba.models.ModelB(class_prior=PAIRS), data, 80, change)


def test_position_bias_is_how_much_more_often_the_first_is_preferred(fit):
    table = ba.annotator_table(fit).set_index("annotator")["prefers_first_mean"]
    first = fit["posterior"]["confusion"].sel(response="model_a").mean(("chain", "draw"))
    for judge in FIRST:
        assert table[judge] == pytest.approx(first.sel(annotator=judge).sum().item() - 1)
    assert ba.ranking_table(fit)["system"].tolist() == SYSTEMS


def test_labels_name_the_winner(fit):
    table, data = ba.label_table(fit), ba.data_of(fit)
    sides = {side: data.item_columns[side].names for side in data.sides}
    assert table["winner"].tolist() == [sides[label][at] for at, label in enumerate(table["label"])]


def test_judges_without_errors_are_a_logistic_regression(rng):
    table = compare(rng, 60, {"ada": 0.0}, right=1.0)
    data = ba.modeling.take_as_true(_read(table))
    graph = ba.models.OneCoin(class_prior=ba.Pairs(first="model_a", second="model_b", strength_prior=2.0)).build(data)
    strengths = [one - one.mean() for one in rng.normal(size=(3, 5))]
    points = compile_unconstrained(graph)([{"strength": one, "accuracy": np.full(1, 0.7)} for one in strengths])
    logp = graph.compile_logp(mode=FAST)
    sides = [(table[side].to_numpy()[:, None] == np.array(SYSTEMS)).astype(float) for side in ("model_a", "model_b")]
    won = np.where(table["winner"] == "model_a", 1, -1)[:, None] * (sides[0] - sides[1])  # (question, system)
    expected = [-np.log1p(np.exp(-won @ one)).sum() - one @ one / 8 for one in strengths]
    np.testing.assert_allclose(np.diff([float(logp(point)) for point in points]), np.diff(expected), rtol=1e-9)


def test_subsets_have_rankings_of_their_own():
    rng, strength = np.random.default_rng(5), np.array([1.2, 0.0, -1.2])
    table = compare(rng, 30, dict.fromkeys(("ada", "bo", "cy"), 0.0), strength)
    data = ba.read_annotations(table, **OF_PAIRS, by="category", label="winner")
    assert data.item_columns["category"].levels == ("code", "math")

    def change(drawn):
        of_each = np.array([strength, -strength]) + rng.normal(0, 0.05, size=(80, 2, 3))
        drawn["strength_offset"][0] = of_each - of_each.mean(axis=2, keepdims=True)
        drawn["strength_sd"][0] = rng.uniform(0.99, 1.01, size=80)
        drawn["strength"][:] *= 0.05

    by = ba.Pairs(first="model_a", second="model_b", by="category")
    fitted = from_prior(ba.models.OneCoin(class_prior=by), data, 80, change)
    ranked = ba.ranking_table(fitted)
    assert ranked["subset"].unique().tolist() == ["all", "code", "math"]
    assert ranked.query("subset == 'code'")["system"].tolist() == ["v", "w", "x"]
    assert ranked.query("subset == 'math'")["system"].tolist() == ["x", "w", "v"]
    assert ranked.groupby("subset")["n_answers"].sum().tolist() == [180, 90, 90]
    assert len(ba.plot_ranking(fitted).axes[0].get_yticklabels()) == 3
    few = fitted.posterior.to_dataset().isel(draw=slice(3))
    strengths = few["strength_by"].transpose("chain", "draw", "subset", "system").values.reshape(-1, 2, 3)
    at = {name: data.item_columns[name].values for name in ("model_a", "model_b", "category")}
    for logs, own in zip(log_classes_of_items(FitView(fitted).model, data, few), strengths, strict=True):
        odds = own[at["category"], at["model_a"]] - own[at["category"], at["model_b"]]
        np.testing.assert_allclose(logs[:, 0] - logs[:, 1], odds, atol=1e-9)


def test_the_matrix_of_wins_is_that_of_the_table(fit):
    axes = ba.plot_wins(fit).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == SYSTEMS
    shown = axes.images[0].get_array()
    for row in ba.win_table(fit).itertuples():
        first, second = SYSTEMS.index(row.first), SYSTEMS.index(row.second)
        assert [shown[first, second], 1 - shown[second, first]] == pytest.approx([row.share_won_mean] * 2)


def test_what_is_asked_next_names_the_order_and_is_read_back(fit):
    table = ba.suggest_annotations(fit, 12, target="ranking", per_annotator=4)
    assert table.columns[:4].tolist() == ["item", "model_a", "model_b", "annotator"]
    assert table["annotator"].value_counts().max() <= 4
    data = FitView(fit).data
    pair_of = {item: {data.item_columns[side].names[at] for side in data.sides} for at, item in enumerate(data.items)}
    own = data.to_frame()
    asked = set(zip(own["item"], own["model_a"], own["annotator"], strict=True))
    for row in table.itertuples():
        assert {row.model_a, row.model_b} == pair_of[row.item]
        assert (row.item, row.model_a, row.annotator) not in asked
    more = ba.add_annotations(data, table.assign(label=table["model_b"]))
    assert more.n_annotations == data.n_annotations + 12
    added = more.to_frame().tail(12)
    assert added["label"].tolist() == ["model_b"] * 12
    assert added["model_a"].tolist() == table["model_a"].tolist()


def test_known_winners_recalibrate_by_their_names(fit):
    data = FitView(fit).data
    sides = {side: data.item_columns[side].names for side in data.sides}
    labels = ba.label_table(fit)["label"].tolist()
    known = {item: sides[label][at] for at, (item, label) in enumerate(zip(data.items[:40], labels, strict=False))}
    again = FitView(ba.recalibrate(fit, known))
    assert [again.data.gold[item] for item in data.items[:40]] == labels[:40]
    with pytest.raises(ba.DataError, match=r"item 'q0' was shown in both orders, so 'model_a' may be either of"):
        ba.recalibrate(fit, {"q0": "model_a"})


def test_winners_are_true_where_no_comparison_has_two_answers(rng):
    alone, two = (_read(compare(rng, 20, dict.fromkeys(judges, 0.0))) for judges in (["ada"], ["ada", "bo"]))
    taken = PAIRS.take(alone)
    assert (taken.items, taken.item_columns) == (alone.items, alone.item_columns)
    assert taken.controls == dict(zip(alone.items, np.array(alone.labels)[alone.label], strict=True))
    known = replace(alone, controls={alone.items[0]: "model_a"})
    for data in (two, known):
        assert PAIRS.take(data) is data
    assert replace(PAIRS, judges_err=True).take(alone) is alone
    unsure = ba.AnnotationData.from_records(
        [("1", "ada", "model_a"), ("1", "bo", "?"), ("2", "bo", "?")], labels=["model_a", "model_b"], unsure="?",
        item_columns={"model_a": ["x", "x"], "model_b": ["y", "y"]},
    )  # fmt: skip
    assert PAIRS.take(unsure).controls == {"1": "model_a"}


def test_judges_without_errors_win_what_is_won(rng, monkeypatch):
    monkeypatch.setattr("bayesanno.analysis.ranking.MOST_DRAWS", 10)
    data = _read(compare(rng, 30, {"ada": 0.0}, right=0.7))
    for one, is_same in ((data, False), (PAIRS.take(data), True)):
        fitted = from_prior(ba.models.ModelB(class_prior=PAIRS), one)
        table = ba.ranking_table(fitted)
        assert ("prefers_first_mean" in ba.annotator_table(fitted)) != is_same
        assert np.allclose(table["share_won_mean"], table["win_rate_mean"], atol=1e-9) == is_same
        assert np.allclose(ba.win_table(fitted)["share_won_mean"], ba.win_table(fitted)["mean"], atol=1e-9) == is_same


def test_comparisons_of_rankings_have_their_weight_unless_told_otherwise(refuses):
    rows = pd.DataFrame({"who": list("ab"), "order": ["x > y > z", "z > x"]})
    data = ba.read_annotations(rows, ranking="order", annotator="who")
    found = {weight: weights_of(ba.models.MACE(class_prior=ba.Pairs(weight=weight)), data) for weight in (None, "")}
    np.testing.assert_allclose(found[None], [0.75, 0.75, 0.75, 1])
    assert found[""] is None
    heavy = replace(data, item_columns={**data.item_columns, "weight": [2.0, 1, 1, 1]})
    with refuses(ba.DataError, "column 'weight' has a weight above 1"):
        ba.Pairs().check(heavy)
    ba.Pairs(weight="weight").check(heavy)


@pytest.mark.filterwarnings("ignore::bayesanno.errors.IdentifiabilityWarning")  # one answer to each comparison
def test_fits_that_weigh_items_differently_are_not_compared(refuses):
    rows = [(f"q{n}", f"j{n % 3}", " > ".join(np.roll(["a", "b", "c"], n % 2))) for n in range(12)]
    data = ba.read_annotations(pd.DataFrame(rows, columns=["item", "annotator", "order"]), ranking="order")
    models = {weight: ba.models.OneCoin(class_prior=ba.Pairs(weight=weight)) for weight in ("weight", "")}
    fits = {weight: from_prior(model, data) for weight, model in models.items()}
    with refuses(ba.FitError, "weigh the items differently"):
        ba.compare(fits)
    assert "prefers_first_mean" not in ba.annotator_table(fits["weight"])
    weights = np.where(np.arange(data.n_items), 1.0, 0.0)
    nothing = replace(data, item_columns={**data.item_columns, "weight": weights})
    with refuses(ba.DataError, "column 'weight' has a weight that is not above 0"):
        models["weight"].check(nothing)


def test_a_report_has_the_systems_of_items():
    rng = np.random.default_rng(3)
    said = ["no" if rng.random() < 0.2 + 0.5 * (i % 2) else "yes" for i in range(60) for _ in range(3)]
    rows = [(f"i{n // 3}", f"a{n % 3}", label) for n, label in enumerate(said)]
    data = ba.AnnotationData.from_records(rows, item_columns={"system": ["new", "old"] * 30})
    fitted = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
    page = render(FitView(fitted), checks=False, random_seed=1)
    (leaders,) = re.findall(r"<caption>Leaderboard.*?</table>", page, re.DOTALL)
    table = ba.group_table(fitted, "system", random_seed=1)
    assert re.findall(r"<tr><td>(\w+)</td>", leaders) == table["group"].tolist()
