"""What a model's author meets: two namespaces, and errors that say what is wrong."""

import copy
from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataError
from bayesanno.modeling.arguments import Parameters, Priors
from tests.models.contract import TINY


def test_what_a_model_does_not_declare_it_does_not_have():
    plain = ba.models.MACE()
    assert plain.fixed_parameters(TINY) == {}
    assert list(plain.findings(TINY)) == list(plain.findings_of_posterior(None)) == []
    assert not plain.is_exchangeable(TINY)
    assert [tuple(latent) for latent in plain.latents(TINY)] == [("true_class", TINY.labels, "")]


def test_parameters_are_read_by_name_and_remember_what_was_asked_for():
    p = Parameters({"accuracy": 1, "frequency_focus": 2})
    assert (p.accuracy, p["frequency_focus"], p.get("share"), list(p)) == (1, 2, None, ["accuracy", "frequency_focus"])
    assert p.used == {"accuracy", "frequency_focus"}
    with pytest.raises(AttributeError, match="no parameter 'acuracy' was declared: there are"):
        _ = p.acuracy
    assert copy.copy(p).accuracy == 1


def test_priors_are_data_of_the_graph_made_once_when_asked_for():
    with pm.Model() as graph:
        prior = Priors(ba.models.MACE())
        assert prior.competence_prior is prior.competence_prior
        with pytest.raises(AttributeError, match="class_prior is an option, not a number"):
            _ = prior.class_prior
    assert [container.name for container in graph.data_vars] == ["competence_prior"]
    np.testing.assert_array_equal(graph["competence_prior"].get_value(), [0.5, 0.5])


def test_a_parameter_that_was_not_declared_is_named():
    @dataclass(frozen=True, kw_only=True)
    class Misspelt(ba.models.MACE):
        def state_logp(self, answers, p):
            return super().state_logp(answers, p) + p.competense

    with pytest.raises(AttributeError, match="no parameter 'competense' was declared: there are competence, strategy"):
        Misspelt().build(TINY)


def test_data_of_another_kind_are_refused(refuses):
    counts = ba.CountData.from_annotations(TINY, positive="yes")
    for build in (ba.models.MACE().build, ba.models.MACE().check):
        with refuses(DataError, r"mace needs AnnotationData \(who labelled which item how\), not CountData"):
            build(counts)
