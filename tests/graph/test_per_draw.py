"""Log prior and deterministics of all draws at once: PyMC's own, which it computes draw by draw."""

import pymc as pm
import pytest
import xarray as xr
from pymc.stats import compute_log_prior as by_pymc

import bayesanno as ba
from bayesanno.data.designs import make_design
from bayesanno.graph import functions as per_draw
from tests.models.contract import FAST, TINY


def prior_draws(graph):
    names = [variable.name for variable in graph.free_RVs]
    draws = pm.draw(graph.free_RVs, draws=6, random_seed=1, mode=FAST)
    coords = {dim: list(graph.coords[dim]) for name in names for dim in graph.named_vars_to_dims.get(name, ())}
    return xr.Dataset(
        {
            name: (("chain", "draw", *graph.named_vars_to_dims.get(name, ())), values.reshape(2, 3, *values.shape[1:]))
            for name, values in zip(names, draws, strict=True)
        },
        coords={"chain": [4, 5], "draw": [7, 8, 9]} | coords,
    )


def check(graph):
    free = prior_draws(graph)
    tree = xr.DataTree.from_dict({"posterior": free})
    mode = {"mode": FAST}
    expected = by_pymc(tree, model=graph, extend_inferencedata=False, progressbar=False, compile_kwargs=mode)
    xr.testing.assert_allclose(per_draw.compute_log_prior(graph, free), expected, rtol=1e-10)
    if graph.deterministics:
        options = {"progressbar": False, "extend_dataset": True, "compile_kwargs": mode}
        expected = pm.compute_deterministics(free.copy(), model=graph, **options)
        found = per_draw.add_deterministics(graph, free.transpose(..., "draw", "chain"))  # in whatever order
        xr.testing.assert_allclose(found.transpose("chain", "draw", ...), expected)


@pytest.mark.parametrize("name", ["model_b", "hierarchical_dawid_skene", "item_difficulty", "ordinal_dawid_skene"])
def test_annotations(name):
    check(ba.get_model(name).build(TINY))


def test_dimensions():
    design = make_design(items=5, annotators=3, labels=("no", "yes"), per_item=3, random_seed=1)
    part = ba.simulate("mace", design, random_seed=1)[0]
    data = ba.MultiAnnotationData(by_dimension={"focus": part, "polarity": part})
    check(ba.get_model("model_a_multi", {"correlated": True}).build(data))
