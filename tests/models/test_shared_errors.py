"""Shared errors: what the loadings do, what is recovered, and what the answers alone cannot show."""

import warnings

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.errors import ConvergenceWarning
from bayesanno.models import ItemDifficulty
from tests.models.contract import TINY, Graph, close, make_case

QUIET = {"progressbar": False, "random_seed": 3}


def together(rng, *, items=300, apart=6, loaded=6, controls=0):
    """Half of the annotators are misled by the same items, and half by none."""
    truth, hard = rng.integers(2, size=items), 2.0 * rng.normal(size=items)
    loading = np.repeat([0.1, 1.0], [apart, loaded])
    right = rng.uniform(size=(items, loading.size)) < 1 / (1 + np.exp(-1.5 + hard[:, None] * loading))
    answers = np.where(right, truth[:, None], 1 - truth[:, None])
    item, annotator = np.indices(answers.shape).reshape(2, -1)
    names, labels = tuple(f"i{n:03d}" for n in range(items)), ("no", "yes")
    gold = {name: labels[k] for name, k in zip(names, truth, strict=True)}
    data = ba.AnnotationData(
        item=item,
        annotator=annotator,
        label=answers.ravel(),
        items=names,
        annotators=tuple([f"apart{n}" for n in range(apart)] + [f"together{n}" for n in range(loaded)]),
        labels=labels,
        controls={name: gold[name] for name in names[:controls]},
    )
    return data, truth


@pytest.mark.usefixtures("by_numpy")
def test_with_a_loading_of_one_it_is_the_one_parameter_logistic_model(rng):
    case = make_case("shared_errors", {})
    plain = Graph(ItemDifficulty(form="1pl"), TINY)
    for parameters in case.draw(3, rng):
        alike = parameters | {"loading": np.ones(TINY.n_annotators), "spread": np.array(0.8)}
        own = {name: alike[name] for name in ("ability", "habit", "spread", "prevalence")}
        close(case.graph.item_logp(alike), plain.item_logp(own))
        assert np.abs(case.graph.item_logp(parameters) - plain.item_logp(own)).max() > 0.01


@pytest.fixture(scope="module")
def fitted():
    data, truth = together(np.random.default_rng(4), controls=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws
        return data, truth, ba.fit("shared_errors", data, draws=200, tune=300, chains=2, **QUIET)


def test_known_labels_show_who_fails_with_others(fitted):
    data, truth, fit = fitted
    loading = (fit["posterior"]["spread"] * fit["posterior"]["loading"]).mean(("chain", "draw")).values
    assert loading[:6].max() < 1 < 1.3 < loading[6:].min()
    unknown = data.control_codes < 0
    independent = ba.fit("model_b", data, method="vb", check=False, **QUIET)
    rows = np.flatnonzero(unknown)
    own, theirs = (np.log(one["latent"]["probability"].values[rows, truth[rows]]).mean() for one in (fit, independent))
    assert own > theirs + 0.1


def test_given_the_difficulty_errors_are_independent(fitted):
    data, _, fit = fitted
    groups = {name: name.rstrip("0123456789") for name in data.annotators}
    table = ba.dependence_table(fit, groups)
    correlation = table.set_index(["level", "first", "second"])["correlation"]
    assert abs(correlation["all", "", ""]) < 0.05  # .16 given the class alone
    assert abs(correlation["group", "together", "together"]) < 0.08  # .4
    misfit = ba.diagnostics_of(fit)["misfit"][0]
    assert misfit["errors"]["p"] > 0.1
