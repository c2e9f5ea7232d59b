"""`compare`: what ArviZ says of each fit, scores beside it, and what is refused."""

import warnings
from dataclasses import replace

import arviz_stats as azs
import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno import compare
from bayesanno._core.errors import ConvergenceWarning, DataError, FitError
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
    for ours, theirs in {
        "elpd_loo": "elpd",
        "se": "se",
        "p_loo": "p",
        "elpd_diff": "elpd_diff",
        "se_diff": "dse",
    }.items():
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
    table = compare({"plain": plain, "known": known})
    assert table["accuracy"].notna().all()
    none = compare({"plain": plain, "other": fit_vb("one_coin", tiny_data())})
    assert "accuracy" not in none


def test_fits_that_cannot_be_compared_are_refused(fits, refuses):
    data = tiny_data(gold=GOLD)
    one, other = fit_vb("model_b", data), fit_vb("mace", data)
    with refuses(FitError, "fits has 0 fits: there must be two or more to compare"):
        compare({})
    with refuses(FitError, "fits has 1 fit: there must be two or more"):
        compare({"one": one})
    with refuses(FitError, "fits is of type list: give the fits by name"):
        compare([one, other])
    with refuses(FitError, "'one' and 'mace' are fits of different data: fit all models to the same"):
        compare({"one": one, "mace": fits["mace"]})
    with refuses(FitError, "'one' and 'again' are the same fit: leave one of them out"):
        compare({"one": one, "other": other, "again": one})
    point = ba.fit("mace", data, **(VB | {"method": "em"}))
    with refuses(FitError, "'point': this fit by em is one point, and leave-one-out needs draws"):
        compare({"one": one, "point": point})
    bare = other.copy()
    del bare["log_likelihood"]
    with refuses(FitError, r"'bare': this fit of mace has no log_likelihood.*compute_log_likelihood\(fit\)"):
        compare({"one": one, "bare": bare})
    wrong = fit_vb("mace", tiny_data(gold={"s1": "no"}))
    with refuses(FitError, "'one' and 'wrong' have different gold labels: give all fits the same"):
        compare({"one": one, "wrong": wrong})
    with refuses(DataError, "bins is 0: it must be at least 1"):
        compare({"one": one, "other": other}, bins=0)
    with refuses(FitError, "random_seed is -1"):
        compare({"one": one, "other": other}, random_seed=-1)
