"""Labels that are not those of most annotators are said to be, whatever the model and the method."""

from dataclasses import replace

import numpy as np
import xarray as xr

import bayesanno as ba
from bayesanno.fits.view import FitPart
from bayesanno.inference.diagnosis.findings import FEWEST_VOTED, find_against_votes
from bayesanno.modeling.findings import threshold_of

AGREES = threshold_of("labels-against-vote")


def crowd(n_items=40, *, wrong=0, controls=None):
    """Three annotators who agree; of the first `wrong` items the posterior says another label."""
    said = [("no", "yes")[i % 2] for i in range(n_items)]
    records = [(f"s{i}", who, said[i]) for i in range(n_items) for who in ("ada", "bo", "cy")]
    data = ba.AnnotationData.from_records(records, labels=("no", "yes"), controls=controls or {})
    probability = np.eye(2)[[i % 2 ^ (i < wrong) for i in range(n_items)]]
    coords = {"item": list(data.items), "true_class": ["no", "yes"]}
    return FitPart(data, xr.Dataset({"probability": (("item", "true_class"), probability)}, coords=coords))


def test_it_is_said_from_a_share_on():
    most = round((1 - AGREES) * 40)
    assert not list(find_against_votes(crowd(wrong=most)))
    (found,) = find_against_votes(crowd(wrong=most + 1))
    assert found.value == (40 - most - 1) / 40


def test_few_items_controls_ties_and_other_kinds_say_nothing():
    assert not list(find_against_votes(crowd(FEWEST_VOTED - 1, wrong=FEWEST_VOTED - 1)))
    assert len(list(find_against_votes(crowd(FEWEST_VOTED, wrong=FEWEST_VOTED)))) == 1
    part = crowd(FEWEST_VOTED, wrong=FEWEST_VOTED, controls={"s0": "yes"})
    assert not list(find_against_votes(part))
    tied = ba.AnnotationData.from_records(
        [(f"s{i}", who, label) for i in range(20) for who, label in (("ada", "no"), ("bo", "yes"))]
    )
    assert not list(find_against_votes(replace(crowd(20, wrong=10), data=tied)))
    assert not list(find_against_votes(replace(part, latent=xr.Dataset())))
    assert not list(find_against_votes(replace(part, latent=part.latent.rename(true_class="item_type"))))
