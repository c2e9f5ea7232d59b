"""A fit of ratings: its values, reliability, groups, predictions, and what the check finds."""

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError
from bayesanno.inference.diagnosis.misfit import measure_misfit
from bayesanno.modeling.kinds.ratings import RULES
from bayesanno.models import Rating
from bayesanno.simulation.quantities import ModelDraws
from tests.inference.draws import fit_quietly

N_ITEMS, N_ANNOTATORS = 50, 6


def rate(rng, *, bias=(0, 0, -8, 5, 3, 0), sd=(6, 6, 6, 6, 6, 35), n=N_ITEMS, share=0.8):
    """True values, and ratings of them: the last annotator is careless, the last item has no rating."""
    truth = rng.normal(50, 15, n)
    rows = [
        (f"s{i}", f"a{j}", float(np.clip(truth[i] + bias[j] + sd[j] * rng.normal(), 0, 100)))
        for i in range(n - 1)
        for j in range(len(bias))
        if j == i % len(bias) or rng.random() < share
    ]
    gold = {f"s{i}": float(truth[i]) for i in range(12)}
    items = [f"s{i}" for i in range(n)]
    return truth, ba.RatingData.from_records(rows, items=items, scale=(0, 100), gold=gold)


@pytest.fixture(scope="module")
def rated():
    truth, data = rate(np.random.default_rng(5))
    how = {"draws": 300, "tune": 300, "chains": 2, "random_seed": 1, "progressbar": False}
    return truth, data, fit_quietly(Rating(slope=True), data, **how)


def test_values_are_nearer_to_the_truth_than_means(rated):
    truth, data, fit = rated
    table = ba.value_table(fit, ci_prob=0.89)
    assert table["item"].tolist() == list(data.items)
    some = (table["n_ratings"] > 0).to_numpy()
    errors = table["value"] - truth, table["mean_rating"] - truth
    mine, mean = (np.sqrt((one[some] ** 2).mean()) for one in errors)
    assert mine < 0.75 * mean
    inside = (table["eti89_lb"] < truth) & (truth < table["eti89_ub"])
    assert 0.75 < inside.mean() <= 1
    alone = table.iloc[-1]  # no rating: what is known is the spread of all items
    assert np.isnan(alone["mean_rating"])
    assert alone["sd"] == pytest.approx(float(fit["posterior"]["spread"].mean()), rel=0.15)
    assert table["gold"].notna().sum() == 12


def test_the_careless_annotator_is_found(rated):
    table = ba.annotator_table(rated[2]).set_index("annotator")
    assert table["competence_mean"].idxmin() == table["sd_mean"].idxmax() == "a5"
    assert table["bias_mean"].idxmin() == "a2"
    assert {"slope_mean", "p_chance"} <= set(table)


def test_reliability_of_the_mean_is_higher_and_consistency_beyond_agreement(rated):
    table = ba.reliability_table(rated[2], k=4).set_index(["of", "coefficient"])["mean"]
    for of in ("panel", "population"):
        one = table[of]
        assert one["ICC(2,1)"] < one["ICC(3,1)"] < one["ICC(3,k)"]
        assert one["ICC(2,1)"] < one["ICC(2,k)"]
    with pytest.raises(FitError, match="k"):
        ba.reliability_table(rated[2], k=0.5)


def test_groups_have_mean_values_and_rows_of_known_values_first(rated):
    truth, data, fit = rated
    groups = {item: "even" if at % 2 == 0 else "odd" for at, item in enumerate(data.items)}
    table = ba.group_table(fit, groups, random_seed=1)
    assert table["source"].tolist() == ["ppi", "ppi", "model", "model"]
    assert set(table["quantity"]) == {"value"}
    own = table[table["source"] == "model"].set_index("group")
    for start, name in enumerate(("even", "odd")):
        assert abs(own.loc[name, "mean"] - truth[start::2].mean()) < 4 * own.loc[name, "sd"]


def test_a_fit_is_stored_with_its_data(rated, tmp_path):
    _, data, fit = rated
    ba.save(fit, tmp_path / "fit.nc")
    again = ba.load(tmp_path / "fit.nc")
    assert ba.data_of(again).hash == data.hash
    assert ba.data_of(again).gold == data.gold
    xr.testing.assert_equal(ba.value_table(again).to_xarray(), ba.value_table(fit).to_xarray())


def test_new_ratings_are_placed_by_the_draws_of_the_fit(rated):
    _, _, fit = rated
    new = ba.RatingData.from_records([("n", "a0", 90), ("n", "a5", 10), ("m", "a5", 10)], scale=(0, 100))
    table = ba.predict_labels(fit, new).set_index("item")
    assert 75 < table.loc["n", "value"] < 95  # the careless annotator hardly counts
    assert table.loc["m", "sd"] > table.loc["n", "sd"]
    with pytest.raises(DataError, match="annotator 'zed' is not among"):
        ba.predict_labels(fit, ba.RatingData.from_records([("n", "zed", 90), ("n", "a0", 8)], scale=(0, 100)))


def test_the_next_ratings_are_of_uncertain_items_by_the_careful(rated):
    _, data, fit = rated
    asked = ba.suggest_annotations(fit, 8)
    assert asked["gain"].is_monotonic_decreasing
    assert asked.loc[0, "item"] == data.items[-1]
    assert "a5" not in set(asked["annotator"])
    with pytest.raises(DataError, match="leave out target"):
        ba.suggest_annotations(fit, 3, target="gold")


@pytest.mark.parametrize("table", [ba.label_table, ba.sample_labels, ba.coverage_table, ba.recalibrate, ba.plot_labels])
def test_tables_of_labels_name_the_table_of_values(rated, table):
    with pytest.raises(FitError, match="needs labels, and rating gives values: see value_table"):
        table(rated[2])


def test_fits_of_open_and_censored_ends_are_not_compared(rated):
    _, data, fit = rated
    how = {"draws": 40, "tune": 40, "chains": 1, "random_seed": 1, "progressbar": False, "check": False}
    with pytest.raises(FitError, match="with the same ends of the scale"):
        ba.compare({"open": fit, "censored": fit_quietly(Rating(ends="censored"), data, **how)})


# ------------------------------------------------------------------------------------------------------ the check


def find_off(model, data, parameters, n_draws=40):
    """The rules of the statistics that ratings from these parameters are off by, with p below .01."""
    coords = {"annotator": list(data.annotators)}
    dims = {name: ("annotator",) if np.ndim(value) else () for name, value in parameters.items()}
    values = {
        name: (("chain", "draw", *dims[name]), np.broadcast_to(value, (1, n_draws, *np.shape(value))).copy())
        for name, value in parameters.items()
    }
    known = {name: one.value for name, one in model.fixed_parameters(data).items()}
    drawn = ModelDraws(model, data, xr.Dataset(values, coords=coords), known)
    (found,) = measure_misfit(drawn, [], 1)
    return {of["rule"] for of in found.found["statistics"].values() if of["p"] < 0.01}


SHAPES = {"as predicted": set()} | {rule: {rule} for rule in RULES.values()}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_model_lacks_is_named(shape, rng):
    n, k = 200, 5
    truth, sd, slope = rng.normal(50, 15, n), np.full(k, 8.0), np.ones(k)
    noise = rng.normal(size=(n, k))
    if shape == "ratings-slopes":
        slope = np.array([0.5, 0.8, 1.0, 1.2, 1.5])
    if shape == "ratings-outliers":
        noise = np.where(rng.random((n, k)) < 0.04, 6 * noise, noise) / np.sqrt(1 + 0.04 * 35)
    if shape == "ratings-ambiguous":
        noise *= np.exp(rng.normal(0, 0.8, (n, 1)) - 0.64)
    if shape == "ratings-copies":
        noise[:, 1] = 0.9 * noise[:, 0] + np.sqrt(1 - 0.81) * noise[:, 1]
    ratings = 50 + slope * (truth[:, None] - 50) + sd * noise
    low, high = (30, 70) if shape == "ratings-at-ends" else (-60, 160)
    rows = [(f"s{i}", f"a{j}", float(np.clip(ratings[i, j], low, high))) for i in range(n) for j in range(k)]
    data = ba.RatingData.from_records(rows, scale=(low, high))
    parameters = {"mean": 50.0, "spread": 15.0, "bias": np.zeros(k), "sd": sd}
    found = find_off(Rating(), data, parameters)
    assert found >= SHAPES[shape]
    assert bool(found) == bool(SHAPES[shape])


def test_the_figure_of_biases_has_a_row_for_each_annotator_with_the_noise_around_the_bias(rated):
    _, _, fit = rated
    table = ba.annotator_table(fit).sort_values("bias_mean", kind="stable")
    axes = ba.plot_biases(fit).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == table["annotator"].tolist()
    bands = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    around = np.column_stack([table["bias_mean"] - table["sd_mean"], table["bias_mean"] + table["sd_mean"]])
    np.testing.assert_allclose(bands, around)
