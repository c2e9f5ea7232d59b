"""What a model's author meets: two namespaces, and errors that say what is wrong."""

import copy

import numpy as np
import pymc as pm
import pytest

import bayesanno as ba
from bayesanno.modeling.arguments import Parameters, Priors


def test_parameters_are_read_by_name():
    p = Parameters({"accuracy": 1, "frequency_focus": 2})
    assert (p.accuracy, p["frequency_focus"], p.get("share"), list(p)) == (1, 2, None, ["accuracy", "frequency_focus"])
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
