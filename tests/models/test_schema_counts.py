"""Tables of fits of models of counts: they agree with the posterior, and what counts do not have is refused.

Draws are of the prior; `test_schema` is about the groups of the fits.
"""

from types import SimpleNamespace

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
    type_table,
)
from bayesanno._core.messages import DataError, FitError
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


def test_the_tables_agree_with_the_posterior(fitted):
    data, tree = fitted.case.data, fitted.tree
    labels = label_table(tree, coverage=0.5)
    assert (labels["item"].tolist(), labels["successes"].tolist()) == (list(data.items), data.successes.tolist())
    p = labels[["p[type 1]", "p[type 2]"]].to_numpy()
    np.testing.assert_array_equal(p, tree["latent"]["probability"])
    assert labels["kept"].sum() == round(data.n_items / 2)

    types = type_table(tree)
    assert types["item_type"].tolist() == ["type 1", "type 2"]
    np.testing.assert_allclose(types["expected_items_mean"], p.sum(axis=0))
    n, case = int(data.trials.max()), fitted.case
    rates = np.array([case.reference.rates(case.whole(one), n) for one in fitted.samples])  # (sample, item_type)
    nearest = np.abs(rates - 0.5).argmin(axis=1)
    assert types["hard_type_probability"].tolist() == [(nearest == t).mean() for t in range(2)]


def test_what_counts_do_not_have_is_refused(fitted, refuses):
    answers = AnnotationData.from_records([("s1", "ada", "yes"), ("s1", "bo", "no")])
    for error, match, call in (
        (DataError, "predict from CountData, not from AnnotationData", lambda: predict_labels(fitted.tree, answers)),
        (FitError, "has no competence of annotators", lambda: annotator_table(fitted.tree)),
        (FitError, "has no competence of annotators", lambda: compare_annotators(fitted.tree)),
        (FitError, "coverage_table needs labels", lambda: coverage_table(fitted.tree)),
        (FitError, "there is nothing to relabel", lambda: relabel(fitted.tree)),
    ):
        with refuses(error, match):
            call()
    assert score(fitted.tree) == {}
