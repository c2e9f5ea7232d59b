"""A model of one's own: what its author reads where a method returns what cannot be used."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayesanno as ba
from bayesanno._core.messages import FitError, ModelError
from bayesanno.modeling.independent import IndependentAnswers
from bayesanno.modeling.process import describe_priors
from bayesanno.modeling.registry import list_model_classes
from tests.models.test_first_draft import Draft
from tests.samples import tiny_data

DATA = tiny_data()  # six items, three annotators, two labels


def draft(**methods):
    """The first draft with some methods replaced."""
    return type("Own", (Draft,), {"name": "own", **methods})()


class Tables(IndependentAnswers):
    """Annotators with one accuracy each, from tables."""

    name = "tables"

    def priors(self, data, prior):  # noqa: ARG002
        pm.Beta("accuracy", 2, 1, dims="annotator")
        self.declare_prevalence(prior)

    def start(self, data):
        return {"accuracy": np.full(data.n_annotators, 0.7), "prevalence": np.full(2, 0.5)}

    def tables(self, p, is_class):
        right = p.accuracy[:, None, None]
        return p.prevalence, pt.switch(is_class, right, 1 - right)


def of_family(self, data, prior):  # noqa: ARG001
    pm.Beta("accuracy", 2, 1, dims="family")


def alone(self, p, is_class):  # noqa: ARG001
    return p.prevalence


WRONG = {
    "state_logp without a state": (
        draft(state_logp=lambda self, answers, p: Draft.state_logp(self, answers, p)[:, :1]),
        r"own: state_logp \(item, state\) has shape \(6, 1\), but must have \(6, 2\)",
    ),
    "a process without states": (
        draft(generate=lambda self, design, p: Draft.generate(self, design, p)[1]),
        "own: generate must return two arrays, states and labels, not TensorVariable",
    ),
    "states of annotations": (
        draft(generate=lambda self, design, p: (Draft.generate(self, design, p)[1],) * 2),
        rf"own: states of generate has shape \({DATA.n_annotations},\), but must have \(6,\)",
    ),
    "a start that lacks a parameter": (
        draft(start=lambda self, data: {"accuracy": np.full(data.n_annotators, 0.7)}),  # noqa: ARG005
        "own: start has no value of 'prevalence': it has 'accuracy'",
    ),
    "one table": (
        type("One", (Tables,), {"tables": alone})(),
        r"tables: tables must return two arrays, p\(class\) and p\(response\), not TensorVariable",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_used_is_named_before_anything_is_compiled(wrong, refuses):
    model, message = WRONG[wrong]
    with refuses(ModelError, message):
        model.build(DATA)


def test_print_shows_the_prior_of_each_parameter():
    assert str(ba.models.MACE(competence_prior=(1, 2))).split("\n") == [
        repr(ba.models.MACE(competence_prior=(1, 2))),
        "    competence[annotator] ~ Beta(1, 2)",
        "    strategy[annotator, response] ~ Dirichlet(10)",
        "    prevalence[true_class] ~ Dirichlet(10)",
    ]
    hierarchical = describe_priors(ba.models.HierarchicalDawidSkene())
    assert "confusion[annotator, true_class, response] ~ LogisticNormal(population, spread)" in hierarchical
    assert "spread[true_class] ~ Gamma(2, scale=2)" in describe_priors(ba.models.HierarchicalDawidSkene(spread_prior=4))


def test_what_depends_on_the_size_of_data_is_a_formula_of_it():
    confusion = "confusion[annotator, true_class, response] ~ Dirichlet"
    assert describe_priors(ba.models.ModelB())[1:] == [f"{confusion}([4.8, 3.2/(K-1), ...])", "(K labels)"]
    assert describe_priors(ba.models.ModelB(), ba.read_annotations("@crowd"))[1:] == [
        f"{confusion}([4.8, 1.06667, ...])"
    ]
    *_, sd, size = describe_priors(ba.models.GaussianMixture())
    assert (sd, size) == ("sd[item_type] ~ HalfNormal(0, 0.25*n)", "(n answers to an item)")
    assert "rate[item_type] ~ Beta([4, 16], [16, 4])" in describe_priors(ba.models.DiligentLazy())


def test_a_class_prior_stands_in_place_of_the_prevalence():
    terms = ba.Pairs(first="left", second="right") + ba.Columns("length")
    of_class = str(ba.models.ModelB(class_prior=terms)).split("\n")
    assert f"    true_class[item] ~ {terms}" in of_class
    assert not any("prevalence[" in line for line in of_class)


def test_what_is_taken_from_data_is_named_and_not_valued():
    assert describe_priors(ba.models.LabelUsage()) == ["usage[annotator, response] ~ Dirichlet(f(habit))"]


def test_a_model_that_cannot_be_built_can_be_printed():
    assert str(draft(priors=of_family)).split("\n")[1].startswith("    (priors are not shown: own: priors: Dimensions")


def test_every_model_of_the_zoo_can_be_printed():
    for name in list_model_classes():
        lines = str(ba.get_model(name)).split("\n")
        assert len(lines) > 1
        assert not any("CustomDist" in line for line in lines)


def test_unknown_arguments_get_a_suggestion():
    with pytest.raises(ModelError, match="mace has no field 'competence': did you mean 'competence_prior'"):
        ba.models.MACE(competence=(1, 1))
    with pytest.raises(TypeError, match="fit has no argument 'seed'; did you mean 'random_seed'"):
        ba.fit("mace", DATA, seed=1)


SHORT = {"draws": 20, "tune": 20, "chains": 2, "random_seed": 1, "progressbar": False}


@pytest.mark.usefixtures("by_numpy")  # what PyMC samples from
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")
@pytest.mark.parametrize(
    ("sampler", "settings", "depth"),
    [("nutpie", {"maxdepth": 1}, "depth"), ("pymc", {"max_treedepth": 1}, "tree_depth")],
)
def test_settings_of_the_sampler_are_passed_on_and_stored(sampler, settings, depth):
    fit = ba.fit("one_coin", DATA, nuts_sampler=sampler, nuts_sampler_kwargs=settings, check=False, **SHORT)
    assert int(fit["sample_stats"][depth].max()) == 1
    assert next(iter(settings)) in fit.attrs["settings"]


def test_settings_that_the_sampler_does_not_have_are_refused(refuses):
    with refuses(FitError, "nuts_sampler_kwargs: .* max_treedepth"):
        ba.fit("one_coin", DATA, nuts_sampler_kwargs={"max_treedepth": 1}, **SHORT)
    with refuses(FitError, "nuts_sampler_kwargs is 3: it must be a mapping"):
        ba.fit("one_coin", DATA, nuts_sampler_kwargs=3, **SHORT)
