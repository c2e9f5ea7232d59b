"""Labels that are not those of most annotators are said to be, whatever the model and the method."""

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.inference.diagnosis.explain import explain_votes
from bayesanno.inference.diagnosis.thresholds import AGREES, FEWEST_VOTED
from bayesanno.models import ItemDifficulty

SAID = r"the labels are those of most annotators for 0 of 40 items only \(0%\): either most annotators are wrong, or"


def crowd(n_items=40, *, wrong=0, controls=None):
    """Three annotators who agree; of the first `wrong` items the posterior says another label."""
    said = [("no", "yes")[i % 2] for i in range(n_items)]
    records = [(f"s{i}", who, said[i]) for i in range(n_items) for who in ("ada", "bo", "cy")]
    data = ba.AnnotationData.from_records(records, labels=("no", "yes"), controls=controls or {})
    probability = np.eye(2)[[i % 2 ^ (i < wrong) for i in range(n_items)]]
    coords = {"item": list(data.items), "true_class": ["no", "yes"]}
    return data, xr.Dataset({"probability": (("item", "true_class"), probability)}, coords=coords)


def test_it_is_said_from_a_share_on():
    most = round((1 - AGREES) * 40)
    assert explain_votes(*crowd(wrong=most)) == []
    (said,) = explain_votes(*crowd(wrong=most + 1))
    assert said.startswith(f"the labels are those of most annotators for {40 - most - 1} of 40 items only (57%)")


def test_few_items_controls_ties_and_other_kinds_say_nothing():
    assert explain_votes(*crowd(FEWEST_VOTED - 1, wrong=FEWEST_VOTED - 1)) == []
    assert len(explain_votes(*crowd(FEWEST_VOTED, wrong=FEWEST_VOTED))) == 1
    data, latent = crowd(FEWEST_VOTED, wrong=FEWEST_VOTED, controls={"s0": "yes"})
    assert explain_votes(data, latent) == []
    tied = ba.AnnotationData.from_records(
        [(f"s{i}", who, label) for i in range(20) for who, label in (("ada", "no"), ("bo", "yes"))]
    )
    assert explain_votes(tied, crowd(20, wrong=10)[1]) == []
    assert explain_votes(object(), latent) == []
    assert explain_votes(data, latent.rename(true_class="item_type")) == []


@pytest.mark.filterwarnings("ignore:(chains disagree|few independent draws|the tail|the energy|chain)")  # so few draws
@pytest.mark.parametrize("method", ["nuts", "em", "vb"])
def test_fits_say_it(method):
    """By a prior under which annotators are seldom right."""
    model = ba.models.ModelB(confusion_accuracy=0.05, confusion_strength=200.0)
    settings = {"nuts": {"draws": 30, "tune": 60, "chains": 2}, "em": {"method_options": {"objective": "map"}}}
    with pytest.warns(ba.ConvergenceWarning, match=SAID):
        fit = ba.fit(model, crowd()[0], method=method, random_seed=1, progressbar=False, **settings.get(method, {}))
    (said,) = ba.diagnostics_of(fit)["remarks"]
    assert said.startswith("the labels are those of most annotators for 0 of 40 items")


def test_a_wide_spread_of_difficulties_is_said():
    posterior = xr.Dataset({"spread": (("chain", "draw"), [[1.9, 2.0]])})
    assert ItemDifficulty().remarks(posterior) == []
    (said,) = ItemDifficulty().remarks(posterior + 1)
    assert said.startswith("the difficulties' spread is 3.0, above 2: careless annotators")
    (said,) = ItemDifficulty().remarks((posterior + 1).assign(habit=0.0))
    assert said.startswith("the difficulties' spread is 3.0, above 2: classes that annotators confuse")
