"""Prediction is Bayes' rule: what it says of a new item is what a fit with that item says, and how surely."""

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, PredictionWarning
from bayesanno.fits.view import view_of
from bayesanno.modeling import posterior as way_back
from bayesanno.modeling.posterior import effective_number, normalise_weights, weighted_mean
from tests.inference.exact import exact_posterior
from tests.samples import TINY_RECORDS, tiny_data

SIGMAS = 4
NEW = {  # item -> who says what
    "agreed": [("ada", "yes"), ("bo", "yes"), ("cy", "yes")],
    "disputed": [("ada", "no"), ("ada", "no"), ("bo", "yes"), ("bo", "yes"), ("cy", "no")],
    "much": [("cy", "yes")] * 6 + [("ada", "no")] * 2,
    "one": [("bo", "no")],
    "silent": [],
}


def new_items(of=NEW):
    records = [(item, who, label) for item, said in of.items() for who, label in said]
    return ba.AnnotationData.from_records(records, items=list(of), labels=["no", "yes"])


def recovered(fit, data, **options):
    """What the fit says of data whose annotators and labels are coded as the fit's."""
    view = view_of(fit)
    return way_back.recover(view.model, data, view.posterior, view.known, with_log_likelihood=False, **options)


def test_the_label_of_a_new_item_is_that_of_the_exact_posterior_with_it(tiny_fit):
    data = new_items()
    assert data.annotators == tiny_data().annotators
    table = ba.predict_labels(tiny_fit, data).set_index("item")
    weighed = recovered(tiny_fit, data, weigh_draws=True).latent
    averaged = recovered(tiny_fit, data).latent
    off = []
    for number, (item, said) in enumerate(NEW.items()):
        records = [*TINY_RECORDS, *((item, who, label) for who, label in said)]
        with_it = ba.AnnotationData.from_records(records, items=[*tiny_data().items, item], labels=["no", "yes"])
        exact = exact_posterior(with_it).probability[-1, 1]
        assert table.loc[item, "p[yes]"] == pytest.approx(float(weighed["probability"][number, 1]), rel=1e-12)
        error = float(weighed["probability_mcse"][number, 1])
        assert 0 < error < 0.02
        assert abs(table.loc[item, "p[yes]"] - exact) < SIGMAS * error
        p = table.loc[item, ["p[no]", "p[yes]"]].to_numpy(dtype=float)
        assert table.loc[item, "entropy"] == pytest.approx(-(p * np.log(p)).sum(), rel=1e-12)
        off.append(abs(float(averaged["probability"][number, 1]) - exact) / error)
    assert max(off) > SIGMAS  # draws that all count alike would not pass
    assert table.loc["silent", "ess_weights"] == pytest.approx(4000)
    assert (table["ess_weights"].drop("silent") < 3999).all()


def test_a_surprise_to_the_fit_is_warned_of(mace_fit):
    best = ba.annotator_table(mace_fit).sort_values("competence_mean")["annotator"].iloc[-1]
    records = [("odd", best, label) for label in ("no", "yes", "maybe") * 8] + [("plain", best, "no")]
    with pytest.warns(PredictionWarning) as seen:
        table = ba.predict_labels(mace_fit, ba.AnnotationData.from_records(records)).set_index("item")
    (warning,) = seen
    ess = table.loc["odd", "ess_weights"]
    assert ess < 400 < table.loc["plain", "ess_weights"]
    assert f"item 'odd' rests on few draws: ess_weights is {ess:.1f} of 4000 draws (should be at least 400)" in str(
        warning.message
    )
    assert warning.filename == __file__


def test_answers_that_no_draw_explains_are_refused(tiny_fit, refuses):
    certain = tiny_fit.copy()
    posterior = tiny_fit["posterior"].to_dataset().copy(deep=True)
    posterior["confusion"].loc[{"annotator": "bo"}] = np.eye(2)
    certain["posterior"] = posterior
    with refuses(DataError, "item 'x' has answers of probability 0 under every draw of this fit: leave it out, or fit"):
        ba.predict_labels(certain, new_items({"y": [("ada", "no")], "x": [("bo", "yes"), ("bo", "no")]}))


def test_chunks_of_items_are_weighed_as_all_at_once(mace_fit, crowd, monkeypatch):
    """Whatever is read off, the spam probability of each annotation with it, whose weights are those of its item."""
    data, _ = crowd
    fit = mace_fit.isel(draw=slice(None, None, 8))
    view = view_of(fit)
    formula = way_back.compile_formula(view.model, data, view.posterior, view.known)
    spam, _ = formula.derived("spam")  # (sample, pattern..)
    logp = formula.log_likelihood().reshape(500, -1)  # (sample, item)
    source = formula.patterns.expand_to_items("annotation")
    monkeypatch.setattr(way_back, "CHUNK_BYTES", 8 * 500 * 3 * 50)  # of 50 items
    found = recovered(fit, data, weigh_draws=True)
    weight = np.exp(logp) / np.exp(logp).sum(axis=0)
    np.testing.assert_allclose(found.ess_weights, 1 / np.square(weight).sum(axis=0), rtol=1e-9)
    expected = (spam[:, source] * weight[:, data.item]).sum(axis=0)
    np.testing.assert_allclose(found.latent["spam"], expected, rtol=1e-9)


def test_weights_of_hundreds_of_nats_neither_overflow_nor_vanish():
    log_weight = np.array([[-5000.0, -np.inf, -np.inf], [-4999.0, -np.inf, -3.0]])  # (sample, item)
    weight = normalise_weights(log_weight)
    share = 2 / (1 + np.exp(-1))
    np.testing.assert_allclose(weight[:, 0], [2 - share, share])
    assert np.isnan(weight[:, 1]).all()
    np.testing.assert_array_equal(weight[:, 2], [0, 2])
    np.testing.assert_allclose(effective_number(weight), [4 / (share**2 + (2 - share) ** 2), 0, 1])
    values = np.array([[1.0, 1.0, np.nan], [3.0, 1.0, 5.0]])  # nothing is to be had of a draw that cannot be
    mean = weighted_mean(weight, values)[0]
    np.testing.assert_allclose(mean, [(2 - share + 3 * share) / 2, np.nan, 5])


def test_the_error_of_a_weighted_mean_is_its_spread_over_repetitions(rng):
    n, sd = 2000, 0.7  # x normal, weights exp(sd x): the weighted mean is sd
    found, said = [], []
    for _ in range(200):
        x = rng.normal(size=(n, 1))
        mean, share = weighted_mean(normalise_weights(sd * x), x)
        found.append(float(mean[0]))
        said.append(float(share.std() / np.sqrt(n)))
        assert abs(share.mean()) < 1e-12
    assert abs(np.mean(found) - sd) < SIGMAS * np.std(found) / np.sqrt(len(found)) + 1 / n
    assert 0.8 < np.std(found) / np.mean(said) < 1.25
    assert np.std(found) > 1.2 / np.sqrt(n)  # more than that of as many equal draws
