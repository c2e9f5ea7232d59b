"""Figures by ArviZ, of fits as they are: each call that the guide and the changelog name draws something."""

import re
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import pytest

import bayesanno as ba

TOP = Path(__file__).parents[2]
CALLS = {
    *re.findall(r"^azp\.[^#\n]+\)", (TOP / "notebooks" / "guide.md").read_text(encoding="utf-8"), re.MULTILINE),
    *re.findall(r"`(azp\.[^`]+)`", (TOP / "CHANGELOG.md").read_text(encoding="utf-8")),
}


@pytest.fixture(scope="module")
def known(mace_fit):
    predicted = ba.add_predictions(mace_fit, replicates=50, random_seed=1)
    return {"azp": azp, "fit": mace_fit, "predicted": predicted, "names": ["prevalence"]}


@pytest.mark.filterwarnings("ignore:Found chain dimension to be longer:UserWarning")  # of arrays within ArviZ
@pytest.mark.parametrize("call", sorted(CALLS))
def test_arviz_draws_what_it_is_said_to_draw(call, known):
    drawn = eval(call, known)
    assert any(axes.has_data() for axes in drawn.viz["figure"].item().axes)
    plt.close("all")


def test_calls_are_found():
    assert {"plot_trace", "plot_rank", "plot_prior_posterior", "plot_forest", "plot_psense_dist"} <= {
        re.match(r"azp\.(\w+)", call)[1] for call in CALLS
    }
