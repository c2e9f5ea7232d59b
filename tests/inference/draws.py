"""Draws made up by hand, and fits of them: nothing is sampled and nothing compiled by nutpie."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import ConvergenceWarning
from bayesanno.fits.view import view_of
from bayesanno.inference.assemble import assemble, remake
from bayesanno.models.model_b import ModelB
from tests.models.contract import LABELS, TINY

EXCHANGEABLE = ModelB(confusion_accuracy=1 / 3)


def posterior_of(annotators, classes, labels, **values):
    """A posterior of these values (chain, draw, ...), whose dimensions are those of model B's variables."""
    dims = {"confusion": ("annotator", "true_class", "response"), "unrelated": ("annotator",), "slope": ()}
    variables = {name: (("chain", "draw", *dims.get(name, ("true_class",))), of) for name, of in values.items()}
    n_chains, n_draws = next(iter(values.values())).shape[:2]
    names = {"annotator": list(annotators), "true_class": list(classes), "response": list(labels)}
    return xr.Dataset(variables, coords={"chain": range(n_chains), "draw": range(n_draws)} | names)


def clear_posterior(rng, n_classes=3, n_chains=2, n_draws=6, n_annotators=3):
    """Draws in which every annotator is mostly right: nothing is to be permuted."""
    shape = (n_chains, n_draws)
    confusion = rng.dirichlet(np.ones(n_classes), size=(*shape, n_annotators, n_classes)) / 3
    names = list(LABELS) if n_classes == 3 else [f"c{k}" for k in range(n_classes)]
    return posterior_of(
        TINY.annotators[:n_annotators],
        names,
        names,
        confusion=confusion + 2 / 3 * np.eye(n_classes),
        prevalence=rng.dirichlet(np.ones(n_classes), size=shape),
        other=rng.normal(size=(*shape, n_classes)),
        unrelated=rng.normal(size=(*shape, n_annotators)),
    )


def permute_draws(posterior, orders):
    """Every draw with its classes in another order; `orders` has shape (chain, draw, class)."""
    order = xr.DataArray(orders, dims=("chain", "draw", "true_class"))
    moved = {
        name: variable.isel(true_class=order).transpose(*variable.dims) if "true_class" in variable.dims else variable
        for name, variable in posterior.drop_vars("true_class").data_vars.items()
    }
    return xr.Dataset(moved, coords=posterior.coords)


def make_fit(model, data, posterior, *, check=False):
    """A fit from given draws; so few of them are warned about."""
    with pytest.warns(ConvergenceWarning):
        return make_quiet_fit(model, data, posterior, check=check)


def make_quiet_fit(model, data, posterior, *, check=False, log_density=None, **attrs):
    """A fit from given draws, so many that nothing is warned about."""
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    none = xr.zeros_like(posterior["chain"] * posterior["draw"], dtype=float)  # (chain, draw)
    stats = xr.Dataset({"diverging": none.astype(bool), "lp": none if log_density is None else none + log_density})
    made = {"method": "nuts", "yields": "mcmc", "random_seed": 1, "seconds_compile": 0.0, "seconds_sample": 0.0}
    made["settings"] = json.dumps({"draws": draws, "chains": chains})
    return assemble(model, data, posterior, stats, attrs=made | attrs, check=check)


def said_of(call):
    """What a call gives back, and the warnings of convergence that it gives."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = call()
    return result, [str(warning.message) for warning in seen if warning.category is ConvergenceWarning]


def fit_quietly(model, data, **settings):
    """A short fit, of whatever it warns."""
    quick = {"draws": 200, "tune": 200, "chains": 2, "random_seed": 1, "progressbar": False}
    with warnings.catch_warnings(action="ignore"):
        return ba.fit(model, data, **quick | settings)


def join(*fits):
    """A fit with the chains of several fits of one model to the same data; nothing is known of a search for modes."""
    views = [view_of(fit) for fit in fits]
    chains = range(sum(view.posterior.sizes["chain"] for view in views))
    posterior = concat_datasets([view.posterior for view in views], "chain", chains)
    stats = concat_datasets([view.tree["sample_stats"].to_dataset() for view in views], "chain", chains)
    return remake(views[0], posterior, stats, attrs=views[0].tree.attrs)


def concat_datasets(parts, dim, names):
    """Concatenate datasets along a dimension with new names, with the variables that all have in common."""
    shared = [name for name in parts[0].data_vars if all(name in part for part in parts)]
    whole = xr.concat([part[shared] for part in parts], dim=dim)
    return whole.assign_coords({dim: list(names)})
