"""What is made of draws: convergence, once; log-likelihoods, unless they are too large; warnings at the user's line."""

import warnings

import arviz_stats as azs
import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import ConvergenceWarning, FitError, IdentifiabilityWarning, SizeWarning, warn
from bayesanno.fits.view import view_of
from bayesanno.inference import assemble as assembly
from bayesanno.inference.diagnosis.measures import measure_convergence
from bayesanno.inference.log_likelihood import leave_one_out
from tests.inference.draws import EXCHANGEABLE, clear_posterior, make_fit
from tests.models.contract import TINY

DIAGNOSTICS = ["ess_bulk", "ess_tail", "r_hat"]


@pytest.fixture
def made(rng):
    return make_fit(EXCHANGEABLE, TINY, clear_posterior(rng, n_draws=30))


# ---------------------------------------------------------------------------------------------------- convergence


def test_convergence_is_that_of_arviz_and_the_diagnostics_are_its_extremes(made, tmp_path):
    view = view_of(made)
    found, posterior = view.convergence, view.posterior
    assert found["diagnostic"].values.tolist() == DIAGNOSTICS
    assert {name: values.dims for name, values in found.data_vars.items()} == {
        name: ("diagnostic", *values.dims[2:]) for name, values in posterior.data_vars.items()
    }
    for dim in ("annotator", "true_class", "response"):
        assert found[dim].values.tolist() == posterior[dim].values.tolist()
    bulk, tail = azs.ess(posterior, method="bulk"), azs.ess(posterior, method="tail")
    for name, expected in zip(DIAGNOSTICS, (bulk, tail, azs.rhat(posterior)), strict=True):
        for variable in posterior.data_vars:
            np.testing.assert_allclose(found[variable].sel(diagnostic=name), expected[variable], rtol=1e-12)
    numbers = view.diagnostics
    assert numbers["max_rhat"] == max(float(found[name].sel(diagnostic="r_hat").max()) for name in found)
    assert numbers["min_ess_bulk"] == min(float(found[name].sel(diagnostic="ess_bulk").min()) for name in found)
    ba.save(made, tmp_path / "posterior.nc")
    xr.testing.assert_identical(view_of(ba.load(tmp_path)).convergence, found)


def test_convergence_of_one_chain_and_of_single_numbers(rng):
    draws = xr.Dataset(
        {"x": (("chain", "draw"), rng.normal(size=(1, 40))), "y": (("k", "chain", "draw"), rng.normal(size=(2, 1, 40)))}
    )
    found = measure_convergence(draws)
    assert (found["x"].dims, found["y"].dims) == (("diagnostic",), ("diagnostic", "k"))
    assert np.isnan(found["x"].sel(diagnostic="r_hat"))
    assert float(found["x"].sel(diagnostic="ess_bulk")) == pytest.approx(float(azs.ess(draws)["x"]), rel=1e-12)
    assert np.isfinite(found["y"].sel(diagnostic="ess_tail")).all()
    assert np.isnan(measure_convergence(draws.isel(draw=slice(3)))["y"]).all()  # of so few there is none


# --------------------------------------------------------------------------------------------------------- memory


def test_a_log_likelihood_that_is_too_large_is_left_out_and_can_be_had(made, monkeypatch, refuses, tmp_path):
    size = 8 * made["posterior"].sizes["chain"] * made["posterior"].sizes["draw"] * TINY.n_items
    posterior = made["posterior"].to_dataset()
    monkeypatch.setattr(assembly, "MAX_GROUP_BYTES", size)
    assert "log_likelihood" in make_fit(EXCHANGEABLE, TINY, posterior).children  # as large as it may be
    monkeypatch.setattr(assembly, "MAX_GROUP_BYTES", size - 1)
    with pytest.warns(SizeWarning, match="^no-log-likelihood: "):
        small = make_fit(EXCHANGEABLE, TINY, posterior)
    assert set(made.children) - set(small.children) == {"log_likelihood"}
    xr.testing.assert_equal(small["latent"].to_dataset(), made["latent"].to_dataset())
    ba.save(small, tmp_path / "posterior.nc")
    small = ba.load(tmp_path)
    with refuses(FitError, r"fit of model_b has no log_likelihood, .* use compute_log_likelihood\(fit\)"):
        leave_one_out(small)
    whole = ba.inference.compute_log_likelihood(small)
    xr.testing.assert_identical(whole["log_likelihood"].to_dataset(), made["log_likelihood"].to_dataset())
    assert "no-log-likelihood" in set(ba.findings(small)["code"]) - set(ba.findings(whole)["code"])


# ------------------------------------------------------------------------------------------------------- warnings


def test_warnings_point_at_the_line_that_asked(made, monkeypatch):
    monkeypatch.setattr(assembly, "MAX_GROUP_BYTES", 0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ba.drop_chains(made, [1])
        ba.relabel(made)
        pairs = [("1", "a", "x"), ("2", "b", "y"), ("3", "c", "y")]
        ba.fit("model_b", ba.AnnotationData.from_records(pairs), method="vb", random_seed=1, progressbar=False)
        warn("by ourselves", ConvergenceWarning)
    kinds = {warning.category for warning in seen}
    assert kinds >= {ConvergenceWarning, IdentifiabilityWarning, SizeWarning}
    assert {warning.filename for warning in seen if issubclass(warning.category, UserWarning)} == {__file__}
