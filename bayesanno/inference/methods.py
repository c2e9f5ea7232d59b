"""The methods of fitting, in one table.

A new method is one file next to `nuts` and `advi`, its settings, and one line of the table with a function that imports
it: a fit by EM loads no sampler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from bayesanno._core.messages import FitError
from bayesanno.fits.view import Yields
from bayesanno.inference.settings import (
    ARGUMENTS,
    ADVISettings,
    Draws,
    EMSettings,
    NUTSSettings,
    Results,
    Settings,
    VBSettings,
)


@dataclass(frozen=True)
class Method:
    """A method of fitting.

    Parameters
    ----------
    settings : type
        The settings: a frozen class with valid instances. Fields that are not arguments of `fit` are method options.
    run : callable
        (graph, start, settings, random_seed, progressbar) -> Draws; for methods without a graph, (model, data,
        settings, initvals, relabel, random_seed, progressbar) -> Results.
    yields : {"mcmc", "approximation", "point"}
        The kind of draws: from chains, independent ones from an approximation, or a point estimate. It is stored in a
        fit. Code depends on this kind, never on the method's name.
    needs_graph : bool
        Whether the method fits a PyMC graph. Otherwise it runs without importing PyMC.
    """

    settings: type[Settings]
    run: Callable[..., Any]
    yields: Yields
    needs_graph: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """The method's own options, with their defaults."""
        return {name: value for name, value in self.settings.default_fields().items() if name not in ARGUMENTS}


def _run_nuts(*given: Any, **how: Any) -> Draws:
    from bayesanno.inference.sampling.nuts import sample_nuts

    return sample_nuts(*given, **how)


def _run_advi(*given: Any, **how: Any) -> Draws:
    from bayesanno.inference.sampling.advi import approximate

    return approximate(*given, **how)


def _run_em(*given: Any, **how: Any) -> Results:
    from bayesanno.inference.em_vb.em import fit_by_em

    return fit_by_em(*given, **how)


def _run_vb(*given: Any, **how: Any) -> Results:
    from bayesanno.inference.em_vb.vb import fit_by_vb

    return fit_by_vb(*given, **how)


METHODS = {
    "nuts": Method(NUTSSettings, _run_nuts, "mcmc"),
    "advi": Method(ADVISettings, partial(_run_advi, full_rank=False), "approximation"),
    "fullrank_advi": Method(ADVISettings, partial(_run_advi, full_rank=True), "approximation"),
    "em": Method(EMSettings, _run_em, "point", needs_graph=False),
    "vb": Method(VBSettings, _run_vb, "approximation", needs_graph=False),
}


def choose_method(
    name: str, method_options: Mapping[str, Any] | None = None, **arguments: Any
) -> tuple[Method, Settings]:
    """Return a method and its settings.

    Parameters
    ----------
    name : str
    method_options : mapping, optional
        The method's own options.
    arguments
        The arguments in `ARGUMENTS`; all are checked, and the method gets those it has.

    Raises
    ------
    FitError
        If the method or an option is unknown, or a value is invalid.
    SamplerError
        If a sampler is not installed.

    Examples
    --------
    >>> from bayesanno.inference.methods import choose_method
    >>> choose_method("advi", {"steps": 5_000}, draws=500, tune=1000)[1]
    ADVISettings(starts=20, draws=500, chains=4, steps=5000)
    """
    if name not in METHODS:
        raise FitError(f"there is no method {name!r}: choose one of {', '.join(METHODS)}")
    method = METHODS[name]
    options = {} if method_options is None else method_options
    if not hasattr(options, "keys"):
        raise FitError(f"method_options is {options!r}: it must be a mapping of option to value")
    for option in options:
        if option not in method.options:
            own = ", ".join(method.options)
            has = f" {option!r}: it has {own}" if own else f"s: leave out {option!r}"
            raise FitError(f"{name} has no method option{has}")
    for argument, default in NUTSSettings.default_fields().items():
        if isinstance(arguments.get(argument), str) and not isinstance(default, str):
            raise FitError(f"{argument} is {arguments[argument]!r}: it must be a number, and this is text")
    NUTSSettings(**arguments)  # arguments that this method lacks must be valid, too
    known = {setting.name for setting in fields(method.settings)}
    taken = {setting: value for setting, value in arguments.items() if setting in known}
    return method, method.settings(**taken, **options)


def check_method_on_dask(name: str) -> None:
    """Raise a FitError if a method cannot fit data on a Dask cluster."""
    if METHODS[name].needs_graph:
        able = " and ".join(name for name, one in METHODS.items() if not one.needs_graph)
        raise FitError(f"{name} takes data in memory (read_annotations): on a Dask cluster there are {able}")
