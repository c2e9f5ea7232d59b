"""Dimensions may have any names: what a fit holds of one is never mistaken for that of another."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError
from tests.analysis.made import from_prior
from tests.samples import DIMENSIONS

pytestmark = pytest.mark.usefixtures("by_numpy")


def rename(data, names):
    return ba.MultiAnnotationData(by_dimension=dict(zip(names, data.by_dimension.values(), strict=True)))


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # so few draws
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.PredictionWarning")
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.MisfitWarning")  # of draws of the prior
def test_results_do_not_depend_on_the_names_of_dimensions(multi_fit, several, tmp_path):
    names = ("probability", "x é.")  # as of a variable, and an odd one
    data = rename(several, names)
    fit = from_prior(ba.get_model("model_a_multi"), data)  # the same draws
    ba.save(fit, tmp_path / "posterior.nc")
    stored = ba.load(tmp_path)
    xr.testing.assert_identical(stored, fit)
    assert ba.data_of(stored).hash == data.hash
    renamed = dict(zip(names, DIMENSIONS, strict=True))
    for mine, theirs in renamed.items():
        np.testing.assert_array_equal(*(ba.sample_labels(of, dimension=name, random_seed=1)
                                        for of, name in ((stored, mine), (multi_fit, theirs))))  # fmt: skip
    new = [(ba.predict_labels(stored, data), ba.predict_labels(multi_fit, several))]
    tables = (ba.label_table, ba.coverage_table, ba.calibration_table)
    done, other = ba.recalibrate(stored), ba.recalibrate(multi_fit)
    again = [(table(done), table(other)) for table in (ba.label_table, ba.recalibration_table)]
    for own, expected in [*new, *again, *((table(stored), table(multi_fit)) for table in tables)]:
        pd.testing.assert_frame_equal(own.replace({"dimension": renamed}), expected)


def test_a_fit_that_held_dimensions_in_names_is_said_to_be_older(multi_fit, tmp_path, refuses):
    old = multi_fit.copy()
    old["latent"] = xr.DataTree(xr.Dataset({f"probability_{name}": 0.5 for name in DIMENSIONS}))
    ba.save(old, tmp_path / "posterior.nc")
    for read in (lambda: ba.label_table(old), lambda: ba.load(tmp_path)):
        with refuses(FitError, "an older version of bayesanno made this fit.* fit the data again"):
            read()


def test_names_that_no_group_or_parameter_can_have_are_refused(several, refuses):
    with refuses(DataError, "dimension '..' .* rename it"):
        rename(several, ("a", ".."))
    with refuses(DataError, "model_a_multi has a prior 'frequency_prior': rename dimension 'prior'"):
        ba.get_model("model_a_multi").check(rename(several, ("a", "prior")))
