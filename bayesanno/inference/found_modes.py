"""What the modes that exploring found are, how much mass each carries, and which of them the chains are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import counted
from bayesanno.inference.chain_modes import name_swapped, preferred_classes
from bayesanno.inference.explore import LEAST_MASS, group_modes
from bayesanno.inference.per_draw import add_deterministics
from bayesanno.inference.unconstrained import unconstrain
from bayesanno.modeling.capabilities import is_exchangeable
from bayesanno.modeling.posterior import compile_formula

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pymc
    import xarray

    from bayesanno.inference.starts import Starts
    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

MOST_TOLD = 3  # modes beside the first that a message tells of


def describe_modes(
    model: AnnotationModel, data: Data, graph: pymc.Model, starts: Starts, draws: xarray.Dataset
) -> dict[str, Any]:
    """Describe the modes that were looked for before sampling, and find those that the chains are in.

    Parameters
    ----------
    draws : xarray.Dataset
        The free parameters, dims (chain, draw, ...), before any relabelling.

    Returns
    -------
    dict
        Empty unless modes were looked for. Otherwise `modes`, with `n_starts`, `rough` (the masses are from the
        diagonal of the Hessian alone), `lost` (the chains in no mode that was found) and `found`: for each mode, most
        mass first, `mass` (its share of all modes'), `nats` that its density lies below the highest, `visits`,
        `labellings` (modes that are one but for the names of exchangeable classes), `chains` that ended in it, and how
        it differs from the first: `classes` (name there -> name it stands for), `competence` (mean over annotators
        here, and there), and `items_differ`, how many items have another most probable state.
    """
    explored = starts.explored
    if explored is None:
        return {}
    last, _ = unconstrain(graph, draws.isel(draw=[-1]))  # (chain, 1, dimension)
    ended = [explored.find(starts.density, point) for point in last[:, 0]]
    groups = group_modes(explored.modes, merge=is_exchangeable(model, data))
    firsts = [explored.modes[group[0]] for group in groups]
    points = as_chains(graph, [starts.density.values_at(mode.point) for mode in firsts])
    highest = max(mode.log_density for mode in firsts)
    preferred, states = preferred_classes(points), _probable_states(model, data, points)
    found: list[dict[str, Any]] = []
    for number, (group, mode) in enumerate(zip(groups, firsts, strict=True)):
        found.append(
            {
                "mass": float(explored.mass[group].sum()),
                "nats": highest - mode.log_density,
                "visits": sum(explored.modes[i].visits for i in group),
                "labellings": len(group),
                "chains": [chain for chain, at in enumerate(ended) if at in group],
            }
        )
        if number:
            if preferred is not None and (preferred[number] != preferred[0]).any():
                found[number]["classes"] = name_swapped(points, preferred[0], preferred[number])
            if model.competence is not None:
                found[number]["competence"] = [float(points[model.competence][i].mean()) for i in (number, 0)]
            found[number]["items_differ"] = int((states[number] != states[0]).sum())
    lost = [chain for chain, at in enumerate(ended) if at is None]
    return {"modes": {"n_starts": explored.n_starts, "rough": explored.rough, "lost": lost, "found": found}}


def explain_modes(modes: Mapping[str, Any]) -> list[str]:
    """Say in plain language what modes mean for what is believed; empty if one carries all, and the chains are there.

    Examples
    --------
    >>> from bayesanno.inference.found_modes import explain_modes
    >>> first = {"mass": 0.87, "chains": [0, 1, 2, 3]}
    >>> second = {"mass": 0.13, "chains": [], "competence": [0.2, 0.8], "items_differ": 40}
    >>> print(*explain_modes({"rough": False, "found": [first, second]}))
    the posterior has 2 modes, of an estimated 87% and 13% of its mass: no chain is in mode 2 (annotators at 0.20 on \
average who are at 0.80 in mode 1; 40 items with another most probable state); the draws are not in proportion to \
these masses, so that neither means nor intervals hold for all of the posterior
    """
    found = modes["found"]
    carrying = [number for number, mode in enumerate(found) if mode["mass"] >= LEAST_MASS]
    problems = []
    if len(carrying) > 1:
        told = carrying[1 : 1 + MOST_TOLD]
        shares = [f"{found[number]['mass']:.0%}" for number in [0, *told]]
        roughly = "a rough estimate of" if modes["rough"] else "an estimated"
        where = "; ".join(f"{_who_is_in(found[number], number)} ({_differs(found[number])})" for number in told)
        problems.append(
            f"the posterior has {len(carrying)} modes, of {roughly} {', '.join(shares[:-1])} and {shares[-1]} of its "
            f"mass: {where}; the draws are not in proportion to these masses, so that neither means nor intervals hold "
            "for all of the posterior"
        )
    for number, mode in enumerate(found):
        if mode["chains"] and number not in carrying:
            problems.append(
                f"{_who_is_in(mode, number)}, which carries an estimated {mode['mass']:.1%} of the posterior's mass "
                f"({_differs(mode)}): leave {'it' if len(mode['chains']) == 1 else 'them'} out"
            )
    return problems


def _who_is_in(mode: Mapping[str, Any], number: int) -> str:
    chains = [str(chain) for chain in mode["chains"]]
    if not chains:
        return f"no chain is in mode {number + 1}"
    if len(chains) == 1:
        return f"chain {chains[0]} is in mode {number + 1}"
    return f"chains {', '.join(chains[:-1])} and {chains[-1]} are in mode {number + 1}"


def _differs(mode: Mapping[str, Any]) -> str:
    how = []
    if "classes" in mode:
        how.append(", ".join(f"{there!r} stands for {here!r}" for there, here in mode["classes"].items()))
    if "competence" in mode:
        here, there = mode["competence"]
        how.append(f"annotators at {here:.2f} on average who are at {there:.2f} in mode 1")
    how.append(f"{counted(mode['items_differ'], 'item')} with another most probable state")
    return "; ".join(how)


def as_chains(graph: pymc.Model, points: Sequence[Mapping[str, np.ndarray]]) -> xarray.Dataset:
    """Return points as draws of the parameters, deterministics among them: a chain of one draw for each."""
    dims = {variable.name: graph.named_vars_to_dims.get(variable.name, ()) for variable in graph.free_RVs}
    coords = {dim: list(graph.coords[dim]) for each in dims.values() for dim in each if graph.coords[dim] is not None}
    free = xr.Dataset(
        {name: (("chain", "draw", *each), np.stack([p[name] for p in points])[:, None]) for name, each in dims.items()},
        coords={"chain": range(len(points)), "draw": [0]} | coords,
    )
    return add_deterministics(graph, free)


def _probable_states(model: AnnotationModel, data: Data, points: xarray.Dataset) -> np.ndarray:
    """Return the most probable state of each item in each draw, for the first of several latents: (draw, item)."""
    formula = compile_formula(model, data, points)
    back = formula.patterns.back["item"]
    first = formula.latents[0]
    return np.stack([one.probability[first].argmax(axis=1)[back] for one in formula.evaluate()])
