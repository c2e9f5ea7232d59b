"""A model of one's own: what its author reads where a method returns what cannot be used."""

import re
from dataclasses import fields

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.special import expit

import bayesanno as ba
from bayesanno._core.messages import FitError, ModelError
from bayesanno.modeling.arguments import Answers, Design
from bayesanno.modeling.independent import IndependentAnswers
from bayesanno.modeling.process import describe_priors
from bayesanno.modeling.registry import list_model_classes
from tests.models.guests import OF_PAGE, PAGE
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


def other_names(self, data):
    return {**Draft.start(self, data), "odds": np.ones(data.n_annotators)}


def of_items(self, data, prior):
    Draft.priors(self, data, prior)
    pm.Normal("difficulty", dims="item")


def of_counts(self, data, prior):
    Draft.priors(self, data, prior)
    pm.Poisson("count", 1.0)


def named_draw(self, design, p):
    pm.Normal("noise")
    return Draft.generate(self, design, p)


WRONG = {
    "a slip in a method": (
        draft(state_logp=lambda self, answers, p: p.acuracy),  # noqa: ARG005
        "own: state_logp: AttributeError: no parameter 'acuracy' was declared: there are accuracy, prevalence, odds",
    ),
    "a slip in the start": (draft(start=lambda self, data: data.n_item), "own: start: AttributeError: .* 'n_item'"),  # noqa: ARG005
    "a start of what is not drawn": (
        draft(start=other_names),
        "own: start has 'odds': what is drawn is 'accuracy', 'prevalence'",
    ),
    "a start of another shape": (
        draft(start=lambda self, data: {**Draft.start(self, data), "accuracy": 0.7}),
        r"own: accuracy of start has shape \(\), but must have \(3,\)",
    ),
    "sums of too few dimensions": (
        draft(state_logp=lambda self, answers, p: answers.sum_by_item(p.accuracy[answers.annotator])),  # noqa: ARG005
        r"own: state_logp: ValueError: sum_by_item takes values \(annotation, state\), not 1 dimensions",
    ),
    "parameters of collapsed items": (
        draft(priors=of_items),
        "own: difficulty has a value for each item, and items .*",
    ),
    "a discrete parameter": (draft(priors=of_counts), "own: count is discrete: sum it out in state_logp"),
    "a competence that is not there": (
        draft(competence="skill"),
        "own: 'skill', for the annotator table, is no variable with the dimension annotator: there are .*",
    ),
    "a process with a name": (draft(generate=named_draw), "own: generate declares 'noise': draw without a name.*"),
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


def test_a_model_has_a_name_of_its_own(refuses):
    """Its fits are read by its name: under that of another model they would get its formula."""
    with refuses(ModelError, "Own has the name of MACE, 'mace': give it one of its own"):
        ba.get_model(type("Own", (ba.models.MACE,), {})())
    with refuses(ModelError, "Own has no name: add .*"):
        ba.fit(type("Own", (Draft,), {"name": ""})(), DATA)


def test_the_page_lists_what_the_arguments_have():
    for title, kind in {"Data": ba.AnnotationData, "Answers": Answers, "Design": Design}.items():
        table = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
        listed = re.findall(r"`(\w+)", " ".join(cells))
        assert len(listed) > 5
        assert set(listed) <= {*dir(kind), *(field.name for field in fields(kind))}


@pytest.mark.usefixtures("by_numpy")
def test_known_numbers_of_annotations_are_looked_up(rng):
    """The page's model of practice, where an item has several answers, against its story."""
    values = {"prevalence": np.array([0.3, 0.7]), "skill": rng.normal(size=3), "gain": np.array(0.4)}
    graph = OF_PAGE.Learning().build(DATA)
    observed = graph["annotations"]
    logp = pm.logp(observed, graph.rvs_to_values[observed], warn_rvs=False)
    found = logp.eval({graph[name]: value for name, value in values.items()})
    joint = np.tile(values["prevalence"], (DATA.n_items, 1))
    seen = np.zeros(DATA.n_annotators)
    for item, who, label in zip(DATA.item, DATA.annotator, DATA.label, strict=True):
        right = expit(values["skill"][who] + 0.4 * np.log1p(seen[who]))
        joint[item] *= np.where(np.arange(2) == label, right, 1 - right)
        seen[who] += 1
    np.testing.assert_allclose(found, np.log(joint.sum(axis=1)), rtol=1e-10)


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
