"""`compare`: what ArviZ says of each fit, scores beside it, and what is refused."""

import warnings
from dataclasses import replace

import arviz_stats as azs
import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno import compare
from bayesanno._core.messages import ConvergenceWarning
from bayesanno.inference.log_likelihood import leave_one_out
from tests.samples import tiny_data

VB = {"method": "vb", "random_seed": 1, "progressbar": False}
GOLD = {"s1": "yes", "s2": "no", "s4": "yes"}


def fit_vb(model, data):
    with warnings.catch_warnings():  # an approximation that is poor will do
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ba.fit(model, data, **VB)


@pytest.fixture(scope="module")
def fits(mace_fit):
    return {"mace": mace_fit, "b": fit_vb("model_b", ba.data_of(mace_fit))}


def test_the_table_is_that_of_arviz_with_scores_beside(fits):
    table = compare(fits)
    assert list(table) == [
        "name", "model", "method", "elpd_loo", "se", "p_loo", "max_pareto_k", "n_high_pareto_k", "elpd_diff", "se_diff",
        "weight", "n_gold", "accuracy", "log_score", "brier", "calibration_error", "note",
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto")
        expected = azs.compare(fits, round_to="none")
    assert table["name"].tolist() == expected.index.tolist() == ["mace", "b"]
    names = {"elpd_loo": "elpd", "se": "se", "p_loo": "p", "elpd_diff": "elpd_diff", "se_diff": "dse"}
    for ours, theirs in names.items():
        np.testing.assert_allclose(table[ours], expected[theirs].astype(float), rtol=1e-9, err_msg=ours)
    np.testing.assert_allclose(table["weight"], expected["weight"].astype(float), atol=1e-3)
    for row in table.to_dict("records"):
        scores = ba.calibration_scores(fits[row["name"]], resamples=0).set_index("score")["value"]
        assert {name: row[name] for name in scores.index} == pytest.approx(scores.to_dict())
        k = leave_one_out(fits[row["name"]]).pareto_k
        assert row["max_pareto_k"] == pytest.approx(float(k.max()))
        assert row["n_high_pareto_k"] == int((k > 0.7).sum())
    assert "by vb" not in table["note"][0]
    assert table["note"][1].endswith("elpd_loo: by vb, an approximation; if too narrow, it is too high")
    assert table["n_gold"].tolist() == [400, 400]


def shifted(fit, by):
    """The fit, each item's log-likelihood moved by so much."""
    other = fit.copy()
    group = fit["log_likelihood"].to_dataset()
    other["log_likelihood"] = xr.DataTree(group + by)
    return other


def test_items_of_many_answers_do_not_underflow(fits):
    """A thousand nats less for every item in all fits leave differences and weights as they are."""
    near = compare(fits)
    far = compare({name: shifted(fit, -1000.0) for name, fit in fits.items()})
    for column in ("elpd_diff", "se_diff", "weight"):
        np.testing.assert_allclose(far[column], near[column], atol=1e-6)


def test_high_pareto_k_is_counted_and_said(fits):
    group = fits["b"]["log_likelihood"].to_dataset()
    rng = np.random.default_rng(1)
    values = group["annotations"].values.copy()
    values[..., 3] = -1.2 * rng.exponential(size=values.shape[:2])  # 1 / likelihood is Pareto's, with k = 1.2
    other = fits["b"].copy()
    other["log_likelihood"] = xr.DataTree(group.assign(annotations=(group["annotations"].dims, values)))
    row = compare({"mace": fits["mace"], "other": other}).set_index("name").loc["other"]
    assert row["n_high_pareto_k"] >= 1
    assert row["max_pareto_k"] > 0.7
    assert row["note"].startswith("elpd_loo: 1 item with a Pareto k above 0.7; elpd_loo: by vb")


def test_items_without_answers_count_with_nothing():
    data = tiny_data(gold=GOLD)
    data = replace(data, items=(*data.items, "silent"))
    table = compare({name: fit_vb(name, data) for name in ("mace", "model_b")})
    assert np.isfinite(table[["elpd_loo", "se", "elpd_diff", "weight"]]).all(axis=None)
    assert table["n_gold"].tolist() == [3, 3]


def test_gold_of_one_fit_scores_all():
    plain, known = (fit_vb(model, tiny_data(gold=gold)) for model, gold in (("mace", {}), ("model_b", GOLD)))
    assert compare({"plain": plain, "known": known})["accuracy"].notna().all()
    assert "accuracy" not in compare({"plain": plain, "other": fit_vb("one_coin", tiny_data())})
