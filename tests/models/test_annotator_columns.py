"""Columns of annotators in a model of one's own: their effects, what is refused, and what derived data keep."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.special import expit, logsumexp

import bayesanno as ba
from bayesanno._core.messages import DataError
from bayesanno.agreement.subsets import leave_out
from bayesanno.modeling.independent import IndependentAnswers
from tests.analysis.made import from_prior
from tests.models.graphs import Graph

pytestmark = pytest.mark.usefixtures("by_numpy")  # formulas of forty items, each evaluated a few times

PEOPLE, LABELS = tuple(f"a{number}" for number in range(12)), ("no", "unclear", "yes")
COLUMNS = {"family": ["x", "y", "z"] * 4, "size": np.arange(12.0)}
TRUTH = {
    "family": np.array([1.5, 0.0, -1.5]),
    "size": np.array(0.5),
    "middle": np.array(0.8),
    "prevalence": np.array([0.3, 0.2, 0.5]),
}


@dataclass(frozen=True, kw_only=True)
class ByFamily(IndependentAnswers):
    """Annotators whose accuracy depends on their columns alone."""

    name = "by_family"
    competence = "accuracy"
    formula: str = "family + size"

    def priors(self, data, prior):
        ability = pm.Normal("middle", 0, 1.5) + ba.Columns(self.formula).annotator_effects(data)
        pm.Deterministic("accuracy", pm.math.invlogit(ability), dims="annotator")
        self.declare_prevalence(prior)

    def tables(self, p, is_class):
        right = p.accuracy[:, None, None]
        return p.prevalence, pt.switch(is_class, right, (1 - right) / 2)

    def start(self, data):
        effects = ba.Columns(self.formula).annotator_start(data)
        return {"middle": np.array(0.5), "prevalence": np.full(3, 1 / 3), **effects}


def make_table(items=40):
    design = ba.make_design(items=items, annotators=list(PEOPLE), labels=list(LABELS), per_item=4, random_seed=1)
    return replace(design, annotator_columns=COLUMNS)


@pytest.fixture(scope="module")
def data():
    return ba.simulate(ByFamily(), make_table(), parameters=TRUTH, random_seed=1)[0]


def test_the_likelihood_has_the_sum_of_the_effects(data):
    standard = (COLUMNS["size"] - 5.5) / COLUMNS["size"].std()
    right = expit(0.8 + np.tile(TRUTH["family"], 4) + 0.5 * standard)  # (annotator,)
    of_class = np.tile(np.log(TRUTH["prevalence"]), (data.n_items, 1))
    for item, annotator, label in zip(data.item, data.annotator, data.label, strict=True):
        for true_class in range(3):
            p = right[annotator] if label == true_class else (1 - right[annotator]) / 2
            of_class[item, true_class] += np.log(p)
    np.testing.assert_allclose(Graph(ByFamily(), data).item_logp(TRUTH), logsumexp(of_class, axis=1), rtol=1e-10)


def test_groups_of_annotators_are_partially_pooled(data):
    graph = ByFamily(formula="(size | family)").build(data)
    assert graph.named_vars_to_dims["size|family"] == ("family_level",)
    assert {variable.name for variable in graph.free_RVs} >= {"1|family_offset", "1|family_sd", "size|family_sd"}


REFUSED = {
    "no columns": ({}, "needs the column 'family' of the annotators, and they have no columns: .*annotator_columns="),
    "misspelt": ({"familiy": COLUMNS["family"], "size": COLUMNS["size"]}, "did you mean 'familiy'"),
    "missing": (COLUMNS | {"family": ["", *COLUMNS["family"][1:]]}, "annotator 'a0' has no 'family'"),
    "the same": (COLUMNS | {"family": ["x"] * 12}, "is the same for all annotators"),
    "one each": (COLUMNS | {"family": list(PEOPLE)}, "has another value for each of 12 annotators"),
}


@pytest.mark.parametrize(("columns", "message"), REFUSED.values(), ids=REFUSED)
def test_columns_that_tell_no_annotators_apart_are_refused(data, columns, message):
    with pytest.raises(DataError, match=message):
        ba.fit(ByFamily(), replace(data, annotator_columns=columns))


def test_columns_are_checked_with_the_data(data):
    with pytest.raises(DataError, match="'size' has 2 values for 12 annotators"):
        replace(data, annotator_columns={"size": [1, 2]})
    with pytest.raises(DataError, match="'size' is a column of the items and of the annotators"):
        replace(data, item_columns={"size": range(data.n_items)})


def test_derived_data_keep_the_columns_of_their_annotators(data, tmp_path):
    assert leave_out(data, ["a0"]).annotator_columns["family"].names == COLUMNS["family"][1:]
    more = ba.add_annotations(data, pd.DataFrame({"item": ["i1"], "annotator": ["new"], "label": ["yes"]}))
    assert more.annotator_columns["family"].names == [*COLUMNS["family"], ""]
    frame = data.to_frame()
    assert (frame["family"] == np.array(COLUMNS["family"])[data.annotator]).all()
    assert data.hash != replace(data, annotator_columns={}).hash
    fit = from_prior(ByFamily(), data, 8)
    assert fit["posterior"]["family"].sizes["family_level"] == 3
    np.testing.assert_allclose(fit["posterior"]["family"].sum("family_level"), 0, atol=1e-9)
    ba.save(fit, tmp_path / "fit.nc")
    stored = ba.load(tmp_path / "fit.nc")["annotator_columns"].to_dataset()
    assert [one.attrs["name"] for one in stored.data_vars.values()] == ["family", "size"]
    assert "columns family, size" in str(data)
