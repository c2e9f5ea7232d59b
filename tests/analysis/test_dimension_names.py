"""Dimensions may have any names: what a fit holds of one is never mistaken for that of another."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.errors import DataError, FitError
from tests.inference.draws import make_fit
from tests.samples import DIMENSIONS

pytestmark = pytest.mark.usefixtures("by_numpy")

LIKE_VARIABLES = [("probability", "item"), ("x y", " é.")]


def data_named(names):
    """The same annotations whatever the names of their dimensions."""
    designs = {
        name: ba.simulation.make_loop_design(items=60, annotators=4, labels=of) for name, of in DIMENSIONS.items()
    }
    data, _ = ba.simulate("model_a_multi", ba.MultiAnnotationData(by_dimension=designs), random_seed=4)
    parts = data.by_dimension.values()
    return ba.MultiAnnotationData(by_dimension=dict(zip(names, parts, strict=True)))


def fit_named(names):
    """Their fit, of draws given by hand."""
    data = data_named(names)
    entry = ba.get_model("model_a_multi", {"correlated": False})
    values = entry.start(data)["accuracy"][None, None] - np.array([[0.0], [0.1]])[None, :, :, None]
    coords = {"chain": [0], "draw": [0, 1], "annotator": list(data.annotators), "dimension": list(names)}
    posterior = xr.Dataset({"accuracy": (("chain", "draw", "annotator", "dimension"), values)}, coords)
    return make_fit(entry, data, posterior), data


@pytest.fixture(scope="module")
def plain():
    return fit_named(tuple(DIMENSIONS))


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.PredictionWarning")
@pytest.mark.parametrize("names", LIKE_VARIABLES)
def test_results_do_not_depend_on_the_names_of_dimensions(plain, tmp_path, names):
    (expected, _), (fit, data) = plain, fit_named(names)
    ba.save(fit, tmp_path / "posterior.nc")
    stored = ba.load(tmp_path)
    xr.testing.assert_identical(stored, fit)
    assert ba.data_of(stored).hash == data.hash
    renamed = dict(zip(names, DIMENSIONS, strict=True))

    def same(one, other):
        pd.testing.assert_frame_equal(one.replace({"dimension": renamed}), other)

    for mine, theirs in renamed.items():
        own, other = (
            ba.analysis.correctness_table(of, dimension=name) for of, name in ((stored, mine), (expected, theirs))
        )
        pd.testing.assert_frame_equal(own, other)
        drawn = [
            ba.sample_labels(of, dimension=name, random_seed=1) for of, name in ((stored, mine), (expected, theirs))
        ]
        np.testing.assert_array_equal(*drawn)
    for table in (ba.label_table, ba.coverage_table, ba.calibration_table):
        same(table(stored), table(expected))
    same(ba.predict_labels(stored, data), ba.predict_labels(expected, plain[1]))
    done, other = ba.recalibrate(stored), ba.recalibrate(expected)
    for table in (ba.label_table, ba.recalibration_table):
        same(table(done), table(other))
    last = names[1]
    ba.save(ba.recalibrate(stored, {last: data.by_dimension[last].gold}), tmp_path / "one.nc")
    assert ba.recalibration_table(ba.load(tmp_path / "one.nc"))["dimension"].unique().tolist() == [last]


def test_a_fit_that_held_dimensions_in_names_is_said_to_be_older(plain, tmp_path, refuses):
    old = plain[0].copy()
    parts = {name: old["latent"][name].to_dataset() for name in DIMENSIONS}
    apart = [part.rename({of: f"{of}_{name}" for of in ("true_class", "response")}) for name, part in parts.items()]
    own = {f"probability_{name}": part["probability"] for name, part in zip(DIMENSIONS, apart, strict=True)}
    old["latent"] = xr.DataTree(xr.Dataset(own))
    with refuses(FitError, "an older version of bayesanno made this fit.* fit the data again"):
        ba.label_table(old)
    ba.save(old, tmp_path / "posterior.nc")
    with refuses(FitError, "an older version of bayesanno made this fit.* fit the data again"):
        ba.load(tmp_path)


def test_names_that_no_group_or_parameter_can_have_are_refused(refuses):
    with refuses(DataError, "dimension '..' .* a fit cannot store it: rename it"):
        data_named(("a", ".."))
    with refuses(DataError, "model_a_multi has a prior 'frequency_prior': rename dimension 'prior'"):
        ba.get_model("model_a_multi").check(data_named(("a", "prior")))
