"""A study of priors: what it compares, that a row rests on itself alone, and that it goes on where it stopped."""

import subprocess
import sys
import warnings

import arviz_stats as azs
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.criticism import sensitivity as module
from bayesanno.inference.log_likelihood import leave_one_out
from tests.samples import tiny_data

BY_EM = {"method": "em", "method_options": {"objective": "map", "restarts": 2}, "random_seed": 1, "progressbar": False}
OTHERS = ["strategy_prior=1", "competence_prior=2:1, strategy_prior=1", "competence_prior=2:1"]
GRID = {"competence_prior": [(0.5, 0.5), (2, 1)], "strategy_prior": [1, 10]}


@pytest.fixture(scope="module")
def study(crowd):
    return ba.sensitivity("mace", crowd[0], GRID, **BY_EM)


def same(one, other):
    for what in ("table", "flips", "annotators"):
        left, right = (getattr(found, what).drop(columns="seconds", errors="ignore") for found in (one, other))
        pd.testing.assert_frame_equal(left, right)


def test_the_models_own_prior_is_first_and_each_prior_is_fitted_once(study):
    assert study.table["competence_prior"].tolist() == [(0.5, 0.5), (0.5, 0.5), (2.0, 1.0), (2.0, 1.0)]
    assert study.table["strategy_prior"].tolist() == [10.0, 1.0, 1.0, 10.0]
    assert study.table["prior"].tolist() == ["own", *OTHERS]
    assert set(study.annotators["prior"]) == {"own", *OTHERS}
    own = study.table.iloc[0]
    assert (own["labels_changed"], own["mean_change"], own["largest_rank_move"]) == (0, 0, 0)
    assert study.table["accuracy"].between(0.5, 1).all()


def test_a_row_is_what_a_fit_with_that_prior_says(study, crowd):
    data = crowd[0]
    own, other = (
        ba.fit(ba.models.MACE(strategy_prior=value), data, check=False, **{**BY_EM, "random_seed": 5})
        for value in (10.0, 1.0)
    )
    labels = [ba.label_table(fit).set_index("item") for fit in (own, other)]
    changed = labels[0]["label"] != labels[1]["label"]
    row = study.table.iloc[1]
    bars = ba.plot_priors(study).axes[0].patches
    assert [bar.get_width() for bar in bars] == study.table["labels_changed"].tolist()
    assert row["prior"] == OTHERS[0]
    assert row["labels_changed"] == changed.sum()
    flips = study.flips[study.flips["prior"] == OTHERS[0]].set_index("item")
    assert sorted(flips.index) == sorted(changed.index[changed])
    assert flips["label_then"].to_dict() == labels[1].loc[flips.index, "label"].to_dict()
    np.testing.assert_allclose(flips["probability"], labels[0].loc[flips.index, "probability"], atol=1e-4)
    probability = [one.filter(like="p[").to_numpy() for one in labels]
    change = np.abs(probability[0] - probability[1]).sum(axis=1) / 2
    assert row["mean_change"] == pytest.approx(change.mean(), abs=1e-4)
    assert row["largest_change"] == pytest.approx(change.max(), abs=1e-4)
    competence = [ba.annotator_table(fit)["competence_mean"] for fit in (own, other)]
    ranks = [of_fit.rank(ascending=False, method="min") for of_fit in competence]
    moved = study.annotators[study.annotators["prior"] == OTHERS[0]]["rank_move"].to_numpy()
    # those at 0 and 1 tie, but for rounding: their ranks may be exchanged among them
    ties = sum((np.abs(np.subtract.outer(x.values, x.values)) < 1e-4).sum(axis=0) - 1 for x in competence)
    assert (np.abs(moved - (ranks[1] - ranks[0])) <= ties).all()
    assert row["largest_rank_move"] == np.abs(moved).max()


def test_a_script_that_processes_cannot_import_is_told_what_it_needs(tmp_path):
    script = tmp_path / "script.py"
    asked = f"ba.read_annotations('@crowd'), {GRID}, workers=2, **{BY_EM}"
    script.write_text(f"import bayesanno as ba\nba.sensitivity('mace', {asked})\n", encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "FitError: a process of workers=2 ended before its work was done: a script needs `if __name__" in done.stderr


def test_names_that_would_be_the_same_are_told_apart(crowd):
    grid = {"strategy_prior": [1, 1 + 1e-9]}
    rows = module.lay_out_grid(ba.models.MACE(), grid, crowd[0], 1, {})
    assert [row.name for row in rows] == ["own", "strategy_prior=1", "strategy_prior=1 (2)"]


def test_a_study_goes_on_where_it_stopped(study, crowd, tmp_path, monkeypatch):
    fitted, fit_row = [], module.fit_row

    def stop_at_the_third(row, *rest):
        if len(fitted) == 2:
            raise KeyboardInterrupt
        fitted.append(row.name)
        return fit_row(row, *rest)

    monkeypatch.setattr(module, "fit_row", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        ba.sensitivity("mace", crowd[0], GRID, folder=tmp_path, **BY_EM)
    assert fitted == ["own", OTHERS[0]]
    monkeypatch.setattr(module, "fit_row", lambda row, *rest: fitted.append(row.name) or fit_row(row, *rest))
    same(ba.sensitivity("mace", crowd[0], GRID, folder=tmp_path, **BY_EM), study)
    assert fitted == ["own", *OTHERS]
    ba.sensitivity("mace", crowd[0], {"strategy_prior": [1]}, folder=tmp_path, **{**BY_EM, "random_seed": 2})
    assert fitted == ["own", *OTHERS, "own", OTHERS[0]]  # of another seed, each is fitted again


def test_a_row_of_an_older_layout_is_fitted_again(study, crowd, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LAYOUT", 1)
    ba.sensitivity("mace", crowd[0], GRID, folder=tmp_path, **BY_EM)
    monkeypatch.undo()
    fitted, fit_row = [], module.fit_row
    monkeypatch.setattr(module, "fit_row", lambda row, *rest: fitted.append(row.name) or fit_row(row, *rest))
    for _ in range(2):  # the second time, all rows are of this layout
        same(ba.sensitivity("mace", crowd[0], GRID, folder=tmp_path, **BY_EM), study)
        assert fitted == ["own", *OTHERS]


def test_processes_find_the_same_and_keep_fits_where_asked_for(study, crowd, tmp_path):
    assert study.fits == {}
    first = ba.sensitivity("mace", crowd[0], GRID, folder=tmp_path, keep_fits=True, workers=2, **BY_EM)
    same(first, study)
    assert list(first.fits) == ["own", *OTHERS]
    changed = study.table.set_index("prior")["labels_changed"]
    for name, fit in first.fits.items():
        is_other = ba.label_table(fit)["label"] != ba.label_table(first.fits["own"])["label"]
        assert is_other.sum() == changed[name]
    again = ba.sensitivity("mace", crowd[0], GRID, folder=tmp_path, keep_fits=True, **BY_EM)  # from the folder
    for name, fit in again.fits.items():
        xr.testing.assert_identical(fit["posterior"].dataset, first.fits[name]["posterior"].dataset)


def test_elpd_and_its_difference_to_the_own_prior_are_those_of_arviz(crowd, tmp_path):
    vb = {"method": "vb", "random_seed": 1, "progressbar": False, "draws": 100}  # 400 draws: a lower threshold of k
    study = ba.sensitivity("mace", crowd[0], {"strategy_prior": [0.1, 100]}, keep_fits=True, folder=tmp_path, **vb)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of ArviZ, of a high k
        expected = azs.compare(study.fits, reference="own", round_to="none").loc[study.table["prior"]]
        high = [int((found.pareto_k > found.good_k).sum()) for found in map(leave_one_out, study.fits.values())]
    np.testing.assert_allclose(study.table["elpd_loo"], expected["elpd"])
    np.testing.assert_allclose(study.table["elpd_diff"], expected["elpd_diff"], atol=1e-9)
    np.testing.assert_allclose(study.table["se_diff"], expected["dse"], atol=1e-9)
    assert study.table["n_high_pareto_k"].tolist() == high
    assert max(high) > 0
    own, *others = ba.compare(study.fits).set_index("name").loc[study.table["prior"], "n_high_pareto_k"]
    assert [own, *others] == high
    *_, drawn = ba.plot_priors(study).axes
    np.testing.assert_allclose(drawn.lines[0].get_xdata(), study.table["elpd_diff"])
    assert study.table["elpd_loo"].equals(
        ba.sensitivity("mace", crowd[0], {"strategy_prior": [0.1, 100]}, folder=tmp_path, **vb).table["elpd_loo"]
    )


def test_a_point_has_no_elpd(study):
    assert not {"elpd_loo", "elpd_diff", "se_diff", "n_high_pareto_k"} & set(study.table)


def test_a_prior_that_fails_is_a_row_that_says_why(monkeypatch):
    def fail(arguments, data, seed):
        return (None, "it cannot be") if arguments["model"].strategy_prior == 3 else found(arguments, data, seed)

    found = module.try_fit
    monkeypatch.setattr(module, "try_fit", fail)
    study = ba.sensitivity("mace", tiny_data(), {"strategy_prior": [3, 5]}, **BY_EM)
    priors = study.table
    assert priors["problem"].tolist()[1] == "it cannot be"
    assert np.isnan(priors["labels_changed"][1])
    assert priors["labels_changed"][2] >= 0
    names = [text.get_text() for text in ba.plot_priors(study).axes[0].texts]
    assert names == ["own: strategy_prior=10", "strategy_prior=3 (not fitted)", "strategy_prior=5"]
