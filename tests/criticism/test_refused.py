"""What criticism of models and studies refuse: the kind of the error, and the words that name what is wrong."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError, ModelError
from tests.analysis.made import from_prior
from tests.models.references_counts import counts
from tests.samples import tiny_data

pytestmark = pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # so few draws

DESIGN = ba.make_design(items=12, annotators=2, labels=3, per_item=2, random_seed=1)
GRID = {"strategy_prior": [1, 10]}
GOLD = {"gold": {"s1": "yes"}}


def by_em(**known):
    return ba.fit("model_b", tiny_data(**known), method="em", check=False, random_seed=1, progressbar=False)


def without(fit, group):
    bare = fit.copy()
    del bare[group]
    return bare


def ranks(n):
    flags = {name: ("simulation", np.zeros(n, dtype=bool)) for name in ("warned", "several_modes")}
    found = {"usage": (("simulation", "annotator"), np.zeros((n, 2), dtype=int))}
    return xr.Dataset(found | flags, {"annotator": ["ada", "bo"]}, {"ranked": ["usage"], "model": "some_model"})


def ask_sbc(**change):
    settings = {"model": ba.models.LabelUsage(centre="even"), "simulations": 1, "draws": 60, "tune": 200, "chains": 2}
    given = settings | {"random_seed": 1, "progressbar": False} | change
    return ba.sbc(given.pop("model"), DESIGN, **given)


def ask_sensitivity(**change):
    given = {"model": "mace", "grid": GRID, "method": "em", "random_seed": 1, "progressbar": False} | change
    return ba.sensitivity(given.pop("model"), tiny_data(), given.pop("grid"), **given)


@pytest.fixture(scope="module")
def f(mace_fit, tiny_fit):
    fits = {"tiny": tiny_fit, "mace": mace_fit, "point": by_em(), "odd": by_em(gold={"s1": "perhaps"})}
    fits |= {"other": from_prior(ba.get_model("one_coin"), ba.data_of(tiny_fit))}
    fits |= {"wrong": from_prior(ba.get_model("one_coin"), tiny_data(gold={"s1": "no"}))}
    fits |= {"mixed": from_prior(ba.models.BinomialMixture(types=1), counts((1, 3), (4, 6)))}
    return SimpleNamespace(**fits, control=by_em(**GOLD, controls={"s1": "yes"}))


CHECKS = [
    (lambda f: ba.predictive_check(f.tiny, "unanimos"), FitError, "did you mean 'unanimous'"),
    (lambda f: ba.predictive_check(f.tiny, []), FitError, "statistic is empty"),
    (lambda f: ba.predictive_check(f.tiny, replicates=19), FitError, "replicates is 19"),
    (lambda f: ba.predictive_check(f.point), FitError, "this fit by em is one point"),
    (lambda f: ba.predictive_check(f.mixed, "histogram"), DataError, "'s2' has 6 trials and item 's1' 3"),
    (lambda f: ba.add_predictions(f.point), FitError, "posterior predictions"),
    (lambda f: ba.add_predictions(f.tiny, replicates=0), DataError, "replicates is 0"),
    (lambda f: ba.criticism.item_predictions(f.point), FitError, "predictions of items"),
    (lambda f: ba.calibration_table(f.point), FitError, "no gold label is known: "),
    (lambda f: ba.calibration_scores(f.control), FitError, "no gold label is known of an item that is not a control"),
    (lambda f: ba.calibration_table(f.odd, cumulative=True, order=["no", "yes"]), FitError, "no gold label is among"),
    (lambda f: ba.calibration_table(f.mace, bins=0), DataError, "bins is 0"),
    (lambda f: ba.calibration_table(f.mace, order=["no", "yes"]), DataError, "only with cumulative=True"),
    (lambda f: ba.calibration_table(f.mace, cumulative=True, order=["no", "yes"]), DataError, "each label once"),
    (lambda f: ba.calibration_scores(f.mace, resamples=-1), DataError, "resamples is -1"),
    (lambda f: ba.power_scaling_table(f.tiny, ["confusing"]), FitError, "no variable 'confusing'"),
    (lambda f: ba.power_scaling_table(f.tiny, prior_var_names=["accuracy"]), FitError, "no prior of 'accuracy'"),
    (lambda f: ba.criticism.label_power_scaling(f.point), FitError, "is one point"),
    (lambda f: ba.power_scaling_table(without(f.tiny, "log_likelihood")), FitError, "no group log_likelihood"),
]
COMPARISONS = [
    (lambda _: ba.compare({}), FitError, "fits has 0 fits"),
    (lambda f: ba.compare({"one": f.tiny}), FitError, "fits has 1 fit: "),
    (lambda f: ba.compare([f.tiny, f.other]), FitError, "fits is of type list"),
    (lambda f: ba.compare({"one": f.tiny, "mace": f.mace}), FitError, "'one' and 'mace' are fits of different data"),
    (lambda f: ba.compare({"one": f.tiny, "again": f.tiny}), FitError, "'one' and 'again' are the same fit"),
    (lambda f: ba.compare({"one": f.tiny, "point": f.point}), FitError, "'point': this fit by em is one point"),
    (lambda f: ba.compare({"a": f.tiny, "b": without(f.other, "log_likelihood")}), FitError, "'b': .* log_likelihood"),
    (lambda f: ba.compare({"one": f.tiny, "two": f.wrong}), FitError, "'one' and 'two' have different gold labels"),
    (lambda f: ba.compare({"one": f.tiny, "other": f.other}, bins=0), DataError, "bins is 0"),
]
PRIORS = [
    (lambda _: ba.describe_prior("model_a", DESIGN), FitError, r"parameters from the data, .* ModelA\(.*'shared'"),
    (lambda _: ba.describe_prior({"one": "one_coin", "two": "label_usage"}, DESIGN), FitError, "label_usage takes"),
    (lambda _: ba.describe_prior("mace", DESIGN, draws=5), FitError, "draws is 5"),
    (lambda _: ba.describe_prior({}, DESIGN), FitError, "models is empty"),
    (lambda _: ba.describe_prior("maze", DESIGN), ModelError, "did you mean 'mace'"),
    (lambda _: ba.describe_prior("binomial_mixture", DESIGN), DataError, "needs CountData"),
    (lambda _: ask_sbc(simulations=0), FitError, "simulations is 0"),
    (lambda _: ask_sbc(workers=0), FitError, "workers is 0"),
    (lambda _: ask_sbc(draws=40), FitError, "ranks need 99 draws, and the fit has 80"),
    (lambda _: ask_sbc(model="model_a"), FitError, "model_a takes parameters from the data"),
    (lambda _: ba.sbc_table(ranks(50), of="labels"), FitError, "there are no labels to score"),
    (lambda _: ba.sbc_table(ranks(50), of="scores", bins=0), DataError, "bins is 0"),
    (lambda _: ba.sbc_table(ranks(49)), FitError, "49 simulations: a test of their ranks needs 50"),
    (lambda _: ask_sensitivity(grid={}), ModelError, "the grid is empty"),
    (lambda _: ask_sensitivity(grid={"strategy_prior": []}), ModelError, r"the grid of strategy_prior is \[\]"),
    (lambda _: ask_sensitivity(grid={"strategy_prio": [1]}), ModelError, "did you mean 'strategy_prior'"),
    (lambda _: ask_sensitivity(grid={"strategy_prior": [1, -1]}), ModelError, "strategy_prior is -1"),
    (lambda _: ask_sensitivity(model="diligent_lazy_annotators"), FitError, "sensitivity needs labels"),
    (lambda _: ask_sensitivity(method="vi"), FitError, "there is no method 'vi'"),
]


@pytest.mark.parametrize(("ask", "error", "match"), [*CHECKS, *COMPARISONS, *PRIORS])
def test_what_cannot_be_criticised_is_refused(f, refuses, monkeypatch, ask, error, match):
    monkeypatch.setattr("bayesanno.criticism.sensitivity.fit_row", lambda *_: pytest.fail("something was fitted"))
    with refuses(error, match):
        ask(f)
