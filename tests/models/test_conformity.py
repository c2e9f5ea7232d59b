"""Published numbers by NUTS: those of the R package rater on the anaesthesia data."""

import pytest

import bayesanno as ba

PUBLISHED = {"1": 0.376, "2": 0.407, "3": 0.143, "4": 0.074}  # rater's README, Dawid-Skene with its default priors


@pytest.mark.filterwarnings("ignore::bayesanno.MisfitWarning")  # of statistics, at the edge of what is said
def test_model_b_agrees_with_rater_on_the_anaesthesia_data(shared):
    data = ba.read_annotations(shared / "data" / "anesthesia.csv")
    assert (data.n_items, data.n_annotators, data.n_annotations) == (45, 5, 315)
    fit = ba.fit("model_b", data, random_seed=1, progressbar=False)
    prevalence = fit["posterior"]["prevalence"].mean(("chain", "draw"))
    for label, expected in PUBLISHED.items():
        assert float(prevalence.sel(true_class=label)) == pytest.approx(expected, abs=0.01)
    found = ba.diagnostics_of(fit)
    assert found["max_rhat"] <= 1.01
    assert found["divergences"] == 0
