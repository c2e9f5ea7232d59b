"""Recalibrated labels of items whose true label nobody named, and of several dimensions."""

import json
import re

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import PredictionWarning
from bayesanno.fits.view import part_of, view_of
from bayesanno.report.page import render
from tests.inference.draws import make_fit
from tests.models.contract import as_posterior
from tests.samples import TINY_RECORDS


def test_a_truth_that_nobody_named_keeps_its_state():
    """Model A: labels are recalibrated, and "none of these" is what those not said add up to."""
    data = ba.AnnotationData.from_records(TINY_RECORDS, labels=("maybe", "no", "yes"))
    entry = ba.get_model("model_a")
    draws = [{"accuracy": np.random.default_rng(seed).uniform(0.6, 0.9, 3)} for seed in range(8)]
    fit = make_fit(entry, data, as_posterior(entry.build(data), draws, 2))
    with pytest.warns(PredictionWarning):
        done = ba.recalibrate(fit, {"s1": "yes", "s2": "maybe", "s4": "no"})
    states, labels = done["labels"]["probability"].values, done["labels"]["label_probability"].values
    said = data.votes > 0
    np.testing.assert_allclose(states[:, :-1], np.where(said, labels, 0), atol=1e-12)
    np.testing.assert_allclose(states[:, -1], np.where(said, 0, labels).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(labels.sum(axis=1), 1)
    np.testing.assert_allclose(done["labels"]["correct"], labels[data.item, data.label])
    table = ba.label_table(done)
    np.testing.assert_allclose(table["p_none"], states[:, -1])
    assert ba.analysis.correctness_table(done, ["s1"])["probability"].sum() == pytest.approx(1)
    drawn = ba.sample_labels(done, random_seed=1)
    assert int(drawn.max()) <= 2
    assert np.abs(labels - fit["latent"]["label_probability"].values).max() > 0.01


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.PredictionWarning")  # few known labels
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.MisfitWarning")  # of draws of the prior
def test_each_dimension_has_a_recalibration_of_its_own(multi_fit, several):
    done = ba.recalibrate(multi_fit)
    assert ba.recalibration_table(done)["dimension"].tolist() == ["focus"] * 4 + ["polarity"] * 3
    one = ba.recalibrate(multi_fit, {"polarity": several.by_dimension["polarity"].gold})
    for name, source in (("focus", multi_fit), ("polarity", done)):
        expected, found = (part_of(view_of(fit), name).posterior for fit in (source, one))
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert json.loads(one.attrs["recalibration"]).keys() == {"polarity"}
    page = render(view_of(done), checks=False, random_seed=1)
    (section,) = re.findall(r'<section id="recalibration">(.*?)</section>', page, re.DOTALL)
    assert re.findall("<h3>(.*?)</h3>", section) == ["focus", "polarity"]
    assert ba.sample_labels(one, dimension="polarity", random_seed=1).sizes["item"] == 40
    assert ba.predict_labels(one, several)["dimension"].unique().tolist() == ["focus", "polarity"]
