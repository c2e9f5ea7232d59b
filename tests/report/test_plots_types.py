"""Figures of item types: what types predict is what the formulas of their models say."""

from itertools import product

import numpy as np
import pytest
import xarray as xr
from scipy.stats import binom

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError
from bayesanno.modeling.posterior import take_draws
from tests.inference.draws import make_fit
from tests.samples import tiny_data, title_of

pytestmark = pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")


@pytest.fixture(scope="module")
def easy_fit(by_numpy):  # noqa: ARG001 -- of few draws
    """Easy and hard items, by draws given by hand."""
    rng, data = np.random.default_rng(1), tiny_data()
    draws = {
        "hard_fraction": (("chain", "draw"), rng.beta(2, 2, (2, 40))),
        "coin": (("chain", "draw", "annotator", "response"), rng.dirichlet([1, 1], (2, 40, data.n_annotators))),
        "easy_prevalence": (("chain", "draw", "response"), rng.dirichlet([1, 1], (2, 40))),
    }
    coords = {"chain": [0, 1], "draw": range(40), "annotator": list(data.annotators), "response": list(data.labels)}
    return make_fit(ba.get_model("easy_hard"), data, xr.Dataset(draws, coords))


def curves(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


def test_types_of_counts_are_binomials(counted_fit):
    (axes,) = ba.plot_types(counted_fit).axes
    data = ba.data_of(counted_fit)
    seen = [bar.get_height() for bar in axes.patches]
    assert seen == np.bincount(data.successes, minlength=9).tolist()
    draws = take_draws(counted_fit["posterior"].to_dataset(), 500)
    weight, rate = (draws[name].transpose("chain", "draw", "item_type").values[0] for name in ("weight", "rate"))
    expected = 60 * weight[:, :, None] * binom.pmf(np.arange(9), 8, rate[:, :, None])  # (draw, type, bin)
    shown = curves(axes)
    assert list(shown) == ["type 1", "type 2", "all together"]
    np.testing.assert_allclose(shown["type 1"], expected[:, 0].mean(axis=0))
    np.testing.assert_allclose(shown["type 2"], expected[:, 1].mean(axis=0))
    np.testing.assert_allclose(shown["all together"].sum(), 60)
    assert len(axes.collections) == 3  # the bands
    low, high = axes.collections[0].get_datalim(axes.transData).intervaly
    assert low >= expected[:, 0].min()
    assert high <= expected[:, 0].max()
    assert axes.get_xlabel() == "successes (of 8 to an item)"


def test_types_of_annotations_take_each_annotator_into_account(easy_fit):
    (axes,) = ba.plot_types(easy_fit).axes
    data = ba.data_of(easy_fit)
    n = np.bincount(data.item)
    three = np.flatnonzero(n == np.bincount(n).argmax())
    answers = int(n[three[0]])
    draws = take_draws(easy_fit["posterior"].to_dataset(), 500)
    coin = draws["coin"].transpose("chain", "draw", "annotator", "response").values[0]
    hard, easy = draws["hard_fraction"].values[0], draws["easy_prevalence"].values[0]
    expected = np.zeros((answers + 1, 3))  # (bin, state)
    for item in three:
        who = data.annotator[data.item == item]
        for said in product([0, 1], repeat=answers):  # every way to answer
            chance = hard * np.prod([coin[:, one, label] for one, label in zip(who, said, strict=True)], axis=0)
            expected[sum(said), 2] += chance.mean()
        expected[0, 0] += ((1 - hard) * easy[:, 0]).mean()
        expected[answers, 1] += ((1 - hard) * easy[:, 1]).mean()
    shown = curves(axes)
    for state, name in enumerate(["easy: no", "easy: yes", "hard"]):
        np.testing.assert_allclose(shown[name], expected[:, state], atol=1e-9)
    votes = data.votes[three, 1].astype(int)
    assert [bar.get_height() for bar in axes.patches] == np.bincount(votes, minlength=answers + 1).tolist()
    assert f"the {three.size} of 6 items with {answers} answers" in title_of(axes)
    other = curves(ba.plot_types(easy_fit, label="no").axes[0])
    np.testing.assert_allclose(other["hard"], shown["hard"][::-1])


def test_what_has_no_types_is_refused(counted_fit, easy_fit, mace_fit, refuses):
    with refuses(FitError, "the items of mace are not of types"):
        ba.plot_types(mace_fit)
    with refuses(FitError, "no competence of annotators"):
        ba.plot_annotators(counted_fit)
    with refuses(FitError, "no confusion matrices"):
        ba.plot_confusion(counted_fit)
    with refuses(DataError, "there is no label 'maybe'"):
        ba.plot_types(easy_fit, label="maybe")
    with refuses(DataError, "label is 'yes'"):
        ba.plot_types(counted_fit, label="yes")
