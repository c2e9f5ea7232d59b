"""Tables of fits of models of counts: they agree with the posterior, and what counts do not have is refused.

Draws are of the prior; `test_schema` is about the groups of the fits.
"""

import warnings
from types import SimpleNamespace

import arviz_stats as azs
import numpy as np
import pytest

from bayesanno import (
    AnnotationData,
    CountData,
    annotator_table,
    compare_annotators,
    coverage_table,
    label_table,
    predict_labels,
    relabel,
    summary,
    type_table,
)
from bayesanno._core.errors import DataError, FitError
from bayesanno.analysis.labels import score
from tests.inference.draws import make_fit
from tests.models.contract import models_of
from tests.models.contract_counts import make_any_case
from tests.models.graphs import as_posterior

DRAWS, CHAINS = 40, 2


@pytest.fixture(scope="module", params=models_of(CountData))
def fitted(request):
    case = make_any_case(request.param, {})
    samples = case.prior_draws[: CHAINS * DRAWS]
    tree = make_fit(case.entry, case.data, as_posterior(case.graph.model, samples, CHAINS))
    return SimpleNamespace(tree=tree, case=case, samples=samples)


def test_types_ascend(fitted):
    """In every draw; or on average, where their priors tell the types apart."""
    values = np.array([one.get("rate", one.get("mean")) for one in fitted.samples])  # (sample, item_type)
    assert (values[:, 0] < values[:, 1]).all() or fitted.case.entry.name == "diligent_lazy"
    assert values[:, 0].mean() < values[:, 1].mean()


def test_the_tables_agree_with_the_posterior(fitted):
    data, tree = fitted.case.data, fitted.tree
    labels = label_table(tree, coverage=0.5)
    assert labels.columns.tolist() == ["item", "p[type 1]", "p[type 2]", "successes", "trials", "hard", "kept"]
    assert (labels["item"].tolist(), labels["successes"].tolist()) == (list(data.items), data.successes.tolist())
    p = labels[["p[type 1]", "p[type 2]"]].to_numpy()
    np.testing.assert_array_equal(p, tree["latent"]["probability"])
    assert labels["kept"].sum() == round(data.n_items / 2)

    types = type_table(tree)
    posterior = tree["posterior"].data_vars
    of = [name for name, values in posterior.items() if values.dims == ("chain", "draw", "item_type")]
    parts = [f"{name}_{what}" for name in [*of, "expected_items"] for what in ("mean", "sd", "eti89_lb", "eti89_ub")]
    assert types.columns.tolist() == ["item_type", *parts, "hard_type_probability"]
    assert types["item_type"].tolist() == ["type 1", "type 2"]
    np.testing.assert_allclose(types["expected_items_mean"], p.sum(axis=0))
    n, case = int(data.trials.max()), fitted.case
    rates = np.array([case.reference.rates(case.whole(one), n) for one in fitted.samples])  # (sample, item_type)
    nearest = np.abs(rates - 0.5).argmin(axis=1)
    assert types["hard_type_probability"].tolist() == [(nearest == t).mean() for t in range(2)]
    rows = summary(tree).set_index("parameter")
    for name in of:
        for kind in ("mean", "sd", "eti89_lb", "eti89_ub"):
            own = rows.loc[[f"{name}[type 1]", f"{name}[type 2]"], kind]
            np.testing.assert_allclose(types[f"{name}_{kind}"], own)


def test_what_counts_do_not_have_is_refused(fitted, refuses):
    name = fitted.case.entry.name
    answers = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no")])
    with refuses(DataError, f"this fit of {name} is of CountData: predict from CountData, not from AnnotationData"):
        predict_labels(fitted.tree, answers)
    for table in (annotator_table, compare_annotators):
        with refuses(FitError, f"{name} has no competence of annotators"):
            table(fitted.tree)
    with refuses(FitError, "no gold label is known"):
        coverage_table(fitted.tree)
    with refuses(FitError, f"items are of types in {name}, and types keep their order: there is nothing to relabel"):
        relabel(fitted.tree)
    assert score(fitted.tree) == {}


def test_items_can_be_left_out_one_by_one(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few draws
        found = azs.loo(fitted.tree, pointwise=True)
    assert np.isfinite(found.elpd)
    assert found.elpd_i.sizes == {"item": fitted.case.data.n_items}
