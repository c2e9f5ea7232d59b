"""Classes of hardly an item: what is said of a fit whose chains differ in nothing else, and of one where they do."""

import json

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.fits.view import view_of
from bayesanno.inference.diagnosis.findings import find_in_diagnostics, read_findings
from bayesanno.inference.diagnosis.measures import FEW_ITEMS, find_rare
from bayesanno.models import ModelB
from tests.inference.draws import make_quiet_fit, posterior_of

SPLIT = "i0"  # the item of which half say "c" and half "d", which nobody says otherwise


def annotations():
    """Fourteen annotators who agree on most of 40 items."""
    said = {(i, j): "ab"[(i + (i * 7 + j * 5) % 11 // 10) % 2] for i in range(40) for j in range(14)}
    said |= {(0, j): "dc"[j % 2] for j in range(14)}
    return ba.AnnotationData.from_records([(f"i{i}", f"j{j}", label) for (i, j), label in said.items()])


def draw_given_classes(rng, data, classes, n_draws=1500):
    """Draws of model B given each item's class in each chain, (chain, item): exact, since its priors are conjugate."""
    prior, chains = ModelB().concentrations(data), []
    for truth in classes:
        counts = np.zeros((data.n_annotators, data.n_classes, data.n_labels))
        np.add.at(counts, (data.annotator, truth[data.item], data.label), 1)
        rows = rng.standard_gamma(prior["confusion"] + counts, size=(n_draws, *counts.shape))
        prevalence = prior["prevalence"] + np.bincount(truth, minlength=data.n_classes)
        chains.append((rows / rows.sum(axis=-1, keepdims=True), rng.dirichlet(prevalence, size=n_draws)))
    confusion, prevalence = map(np.stack, zip(*chains, strict=True))
    return posterior_of(data.annotators, data.classes, data.labels, confusion=confusion, prevalence=prevalence)


def codes_of(diagnostics):
    return [(one.code, one.level) for one in find_in_diagnostics(diagnostics)]


@pytest.fixture(scope="module")
def rare():
    """Data, and each item's class in each of four chains: of the first item it differs."""
    data = annotations()
    classes = np.tile(data.class_shares.argmax(axis=1), (4, 1))
    classes[:, data.items.index(SPLIT)] = [data.classes.index(name) for name in "ccdd"]
    return data, classes


# -------------------------------------------------------------------------------------------- what is said of a fit


def test_chains_that_differ_on_one_item_leave_the_others_usable(rare, rng):
    data, classes = rare
    with pytest.warns(ba.ConvergenceWarning):
        view = view_of(make_quiet_fit(ModelB(), data, draw_given_classes(rng, data, classes)))
    (found,) = [one for one in read_findings(view) if one.warning == "ConvergenceWarning"]
    assert (found.code, found.level, found.about) == ("rare-label", "note", ("c", "d"))
    found = view.diagnostics["rare"]
    assert (found["differ"], found["named"], found["n_items"]) == (1, [SPLIT], data.n_items)
    sizes = view.latents[""]["probability"].sum("item")
    for one in found["classes"]:
        assert one["items"] == pytest.approx(float(sizes.sel(true_class=one["name"])), abs=1e-9)
    others = view.convergence.sel(true_class=["a", "b"], diagnostic="r_hat")
    assert found["rest"]["max_rhat"] == max(float(others[name].max()) for name in others.data_vars)
    assert found["max_rhat"] == view.diagnostics["max_rhat"] > 1.01


def test_chains_that_agree_on_such_classes_are_not_warned_of(rare, rng):
    data, classes = rare
    fit = make_quiet_fit(ModelB(), data, draw_given_classes(rng, data, np.tile(classes[0], (4, 1))))
    assert "rare" not in view_of(fit).diagnostics
    assert ba.findings(fit).query("level != 'note'").empty


# --------------------------------------------------------------------------------------------------------- the parts


def _numbers(rhat, classes="abc"):
    """R-hat of a parameter of each class and of one that is of no class, with an ESS that is well."""
    values = np.array([[900.0] * len(classes), [800.0] * len(classes), rhat[: len(classes)]])
    single = np.array([900.0, 800.0, rhat[len(classes)]])
    names = {"diagnostic": ["ess_bulk", "ess_tail", "r_hat"], "true_class": list(classes)}
    return xr.Dataset({"row": (tuple(names), values), "alone": ("diagnostic", single)}, coords=names)


def _items(sizes, moves=(), dim="true_class"):
    """What two chains say of items of classes of these sizes; `moves` are items with the class of the second chain."""
    probability = np.zeros((2, sum(sizes), len(sizes)))
    probability[:, np.arange(sum(sizes)), np.repeat(range(len(sizes)), sizes)] = 1
    for item, state in moves:
        probability[1, item] = np.arange(len(sizes)) == state
    names = {"item": [f"i{i}" for i in range(sum(sizes))], dim: list("abc")}
    return [xr.DataArray(probability, dims=("chain", "item", dim), coords=names)]


@pytest.mark.parametrize(
    ("rhat", "sizes", "moves", "found"),
    [
        ((1.0, 1.0, 1.4, 1.0), (60, 39, 1), [], ("c", True)),
        ((1.0, 1.0, 1.4, 1.4), (60, 39, 1), [], ("c", False)),  # a parameter of no class
        ((1.0, 1.4, 1.4, 1.0), (60, 39, 1), [], ("c", False)),  # one of a class that is large enough
        ((1.0, 1.4, 1.4, 1.0), (92, 7, 1), [(99, 1)], ("cb", True)),  # which an item moves to and from
        ((1.0, 1.4, 1.4, 1.0), (60, 39, 1), [(99, 1)], ("c", False)),  # but is too large for that to show
        ((1.0, 1.4, 1.0, 1.0), (60, 39, 1), [], None),  # the small class is well
        ((1.4, 1.4, 1.4, 1.4), (50, 25, 25), [], None),  # there is no small class
    ],
)
def test_what_is_of_small_classes_is_parted_from_the_rest(rhat, sizes, moves, found):
    rare = find_rare(_numbers(rhat), _items(sizes, moves))
    if found is None:
        assert rare is None
        return
    classes, usable = found
    assert json.loads(json.dumps(rare)) == rare
    assert "".join(one["name"] for one in rare["classes"]) == classes
    assert rare["differ"] == len(moves)
    said = codes_of({"max_rhat": max(rhat), "rare": rare})
    assert said == ([("rare-label", "note")] if usable else [("rhat", "care"), ("rare-label", "care")])


@pytest.mark.parametrize(("size", "is_rare"), [(FEW_ITEMS - 1, True), (FEW_ITEMS, False)])
def test_a_class_is_small_below_five_items(size, is_rare):
    rare = find_rare(_numbers((1.0, 1.0, 1.4, 1.0)), _items((60, 40 - int(size), int(size))))
    assert (rare is not None) == is_rare


def test_modes_that_differ_in_such_a_class_alone_are_no_alarm():
    rare = find_rare(_numbers((1.0, 1.0, 1.4, 1.0)), _items((60, 39, 1)))
    within = {"chains": [0], "max_rhat": None, "min_ess_bulk": 90.0, "min_ess_tail": 90.0, "worst": {}}
    modes = {"groups": [[0], [1]], "within": [within]}
    assert codes_of({"max_rhat": 1.4, "modes": modes, "rare": rare}) == [("rare-label", "note")]
    unsampled = {"probability": 0.3, "chains": [], "draws": 0, "items_differ": 40}
    found = [{"probability": 0.7, "chains": [0, 1], "draws": 10}, unsampled]
    lacking = {"modes": modes | {"found": found, "crossing": [], "rough": False}, "rare": rare, "max_rhat": 1.4}
    assert codes_of(lacking)[0] == ("mode-unsampled", "stop")  # that modes differ in little is known of chains alone
