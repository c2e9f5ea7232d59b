"""The table of methods: what `fit` and the command line offer is what the methods have, and a new one is one entry."""

import inspect
import json
from dataclasses import dataclass, fields
from typing import Annotated, get_args, get_type_hints

import numpy as np
import pytest
import typer
import xarray as xr

import bayesanno as ba
from bayesanno._core.fields import Range
from bayesanno._core.messages import FitError
from bayesanno.cli.app import app
from bayesanno.fits.view import Yields, view_of
from bayesanno.inference.methods import METHODS, Method, choose_method
from bayesanno.inference.settings import ARGUMENTS, Draws, GraphSettings, NUTSSettings
from tests.samples import SHORT, tiny_data

OF_FIT = inspect.signature(ba.fit).parameters


@pytest.mark.parametrize("name", METHODS)
def test_what_a_method_is_set_by_has_one_default_everywhere(name):
    method = METHODS[name]
    assert method.yields in get_args(Yields)
    options = {option.name: option.default for option in typer.main.get_command(app).commands["fit"].params}
    for setting in fields(method.settings):
        if setting.name in OF_FIT.keys() - {"nuts_sampler_kwargs"}:  # a mapping, so no option of a command
            assert OF_FIT[setting.name].default == setting.default == options[setting.name]
    named = {setting.name for setting in fields(method.settings)}
    assert ({"draws", "chains"} <= named) == (method.yields != "point")
    assert ("starts" in named) == method.needs_graph


def test_fit_names_the_methods_and_samplers_that_there_are():
    listed = [f'"{name}"' for name in METHODS]
    assert f"method : {{{', '.join(listed)}}}" in ba.fit.__doc__
    samplers = [f'"{name}"' for name in get_args(get_type_hints(NUTSSettings)["nuts_sampler"])]
    assert f"nuts_sampler : {{{', '.join(samplers)}}}" in ba.fit.__doc__
    assert set(ARGUMENTS) <= set(OF_FIT)


def test_a_method_takes_of_the_arguments_what_it_has():
    arguments = {"draws": 9, "tune": 8, "chains": 7, "target_accept": 0.6, "nuts_sampler": "pymc"}
    assert choose_method("nuts", **arguments)[1] == NUTSSettings(**arguments)
    advi = choose_method("advi", {"steps": 6}, **arguments)[1]
    assert (advi.draws, advi.chains, advi.steps) == (9, 7, 6)
    assert choose_method("em", {"steps": "100"})[1].steps == 100  # as typed on the command line


# ------------------------------------------------------------------------------------------------------ a new one


@dataclass(frozen=True, kw_only=True)
class StartSettings(GraphSettings):
    spread: Annotated[float, Range(0, 1)] = 0.5


def stay_at_the_start(graph, start, settings, *, random_seed, progressbar):
    """A method that learns nothing: one draw, where the chains of others start."""
    dims = {name: ("chain", "draw", *graph.named_vars_to_dims[name]) for name in start.values}
    posterior = xr.Dataset(
        {name: (dims[name], value[None, None]) for name, value in start.values.items()},
        coords={"chain": [0], "draw": [0]} | {d: list(graph.coords[d]) for each in dims.values() for d in each[2:]},
    )
    stats = xr.Dataset({"lp": (("chain", "draw"), [[settings.spread]])})
    return Draws(posterior, stats, 0.0, 0.0, {"seed_seen": random_seed, "shown": progressbar})


def test_a_new_method_is_one_entry_of_the_table(monkeypatch, refuses):
    monkeypatch.setitem(METHODS, "start", Method(StartSettings, stay_at_the_start, "point"))
    fit = ba.fit("model_b", tiny_data(), method="start", method_options={"spread": 0.25}, **SHORT)
    assert (fit.attrs["method"], fit.attrs["yields"]) == ("start", "point")
    assert json.loads(fit.attrs["settings"]) == {"spread": 0.25, "starts": 20}
    assert fit["sample_stats"]["lp"].item() == 0.25
    found = view_of(fit).diagnostics
    assert (found["seed_seen"], found["shown"], found["max_rhat"], found["divergences"]) == (1, False, None, None)
    np.testing.assert_allclose(fit["latent"]["probability"].sum("true_class"), 1)
    with refuses(FitError, "start has no method option 'draws': it has starts, spread"):
        choose_method("start", {"draws": 5}, draws=5)
