"""What the modes that exploring found are, how much mass each carries, and which of them the chains are in."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.wording import counted, enumerated
from bayesanno.inference.graph.per_draw import add_deterministics, as_chains
from bayesanno.inference.graph.unconstrained import unconstrain
from bayesanno.inference.modes.chain_modes import MAX_RHAT, name_swapped, preferred_classes
from bayesanno.inference.modes.explore import EQUAL, LEAST_MASS
from bayesanno.inference.modes.labellings import weigh_labellings
from bayesanno.inference.relabelling.align import align_classes
from bayesanno.modeling.capabilities import is_exchangeable
from bayesanno.modeling.posterior import compile_formula

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pymc
    import xarray

    from bayesanno.inference.sampling.starts import Starts
    from bayesanno.modeling.base import AnnotationModel
    from bayesanno.modeling.data_kinds import Data

LOOKS = 5  # draws of each chain whose modes are found, where there are several
MOST_TOLD = 3  # modes beside the first that a message tells of


def describe_modes(
    model: AnnotationModel, data: Data, graph: pymc.Model, starts: Starts, draws: xarray.Dataset
) -> dict[str, Any]:
    """Describe the modes that were looked for before sampling, and find those that the chains are in.

    A mode that a chain is in and no start led to is one of them, of no visits.

    Parameters
    ----------
    draws : xarray.Dataset
        The free parameters, dims (chain, draw, ...), before any relabelling.

    Returns
    -------
    dict
        Empty unless modes were looked for. Otherwise `modes`, with `n_starts`; `unfinished`, how many of them did not
        end at the top of a mode; `rough` (the masses are from the diagonal of the Hessian alone, and so a guess);
        `lost`, the chains whose mode is unknown; `crossing`, the chains whose draws are in several modes, as far as a
        few of them show; and `found`: for each mode, most mass first, `mass` (its share of all modes'), `nats` that its
        density lies below the highest, `log_density`, `visits`, `labellings` (modes that are one but for the names of
        exchangeable classes), `chains` that are in it, most of the time, `draws` that are, of the few looked at, and
        how it differs from the first: `classes` (name there -> name it stands for), `competence` (mean over annotators
        here, and there), and `items_differ`, how many items have another most probable state. Nothing is found where
        the highest end is no mode.
    """
    explored = starts.explored
    if explored is None or explored.best is None:
        return {}
    chains = range(draws.sizes["chain"])
    described: dict[str, Any] = {
        "n_starts": explored.n_starts,
        "unfinished": explored.n_unfinished,
        "rough": explored.rough,
        "lost": list(chains),
        "crossing": [],
        "found": [],
    }
    if not explored.modes:
        return {"modes": described}
    n_looks = 1 if explored.rough or len(explored.modes) == 1 else LOOKS
    looked = np.linspace(draws.sizes["draw"] - 1, 0, n_looks).round().astype(int)  # the last one first
    points, _ = unconstrain(graph, draws.isel(draw=looked))  # (chain, look, dimension)
    rng = np.random.default_rng(0)  # of the signs that a rough estimate takes
    explored, places = explored.place(starts.density, points.reshape(-1, points.shape[2]), rng)
    groups, shares = weigh_labellings(model, data, graph, starts.density, explored.modes)
    number = {mode: at for at, group in enumerate(groups) for mode in group}
    by_chain = np.array([-1 if at is None else number[at] for at in places]).reshape(points.shape[:2])
    homes = [int(Counter(ended.tolist()).most_common(1)[0][0]) for ended in by_chain]  # of equals, the last draw's
    described["lost"] = [chain for chain in chains if homes[chain] < 0]
    described["crossing"] = [chain for chain in chains if np.unique(by_chain[chain][by_chain[chain] >= 0]).size > 1]
    order = np.argsort(-shares, kind="stable")
    firsts = [explored.modes[groups[at][0]] for at in order]
    values = as_chains(graph, [starts.density.values_at(mode.point) for mode in firsts])
    if is_exchangeable(model, data):
        values, _ = align_classes(values)
    differences = _compare(model, data, add_deterministics(graph, values))
    highest = max(mode.log_density for mode in firsts)
    for at, mode, difference in zip(order.tolist(), firsts, differences, strict=True):
        described["found"].append(
            {
                "mass": float(shares[at]),
                "nats": highest - mode.log_density,
                "log_density": mode.log_density,
                "visits": sum(explored.modes[i].visits for i in groups[at]),
                "labellings": len(groups[at]),
                "chains": [chain for chain in chains if homes[chain] == at],
                "draws": int((by_chain == at).sum()),
                **difference,
            }
        )
    return {"modes": described}


def _compare(model: AnnotationModel, data: Data, values: xarray.Dataset) -> list[dict[str, Any]]:
    """Say of each mode, given as chains of one draw, how it differs from the first."""
    preferred, states = preferred_classes(values), _probable_states(model, data, values)
    found: list[dict[str, Any]] = [{}]
    for number in range(1, values.sizes["chain"]):
        found.append({})
        if preferred is not None and (preferred[number] != preferred[0]).any():
            found[number]["classes"] = name_swapped(values, preferred[0], preferred[number])
        if model.competence is not None:
            found[number]["competence"] = [float(values[model.competence][i].mean()) for i in (number, 0)]
        found[number]["items_differ"] = int((states[number] != states[0]).sum())
    return found


def keep_chains(modes: Mapping[str, Any], kept: Sequence[int]) -> dict[str, Any]:
    """Return what is known of modes, as of the chains that are kept, in their order and numbered anew."""
    new = {chain: number for number, chain in enumerate(kept)}

    def renumber(chains: Sequence[int]) -> list[int]:
        return sorted(new[chain] for chain in chains if chain in new)

    whose = {name: renumber(modes[name]) for name in ("lost", "crossing")}
    found = [mode | {"chains": renumber(mode["chains"])} for mode in modes["found"]]
    for mode in found:
        if not mode["chains"] and not whose["crossing"]:
            mode["draws"] = 0
    return dict(modes) | whose | {"found": found}


def merge_modes(parts: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, Any] | None:
    """Return what is known of the modes of one posterior, from several fits of it, given with their numbers of chains.

    Returns
    -------
    dict or None
        None where it is not certain which mode of one fit is which of another: the masses are rough, two modes have the
        same density, or the fits differ in the mode of most mass.
    """
    merged: dict[str, Any] | None = None
    n_before = 0
    for modes, n_chains in parts:
        heights = sorted(mode["log_density"] for mode in modes["found"])
        if modes["rough"] or not heights or (np.diff(heights) < EQUAL).any():
            return None
        moved = dict(modes) | {name: [chain + n_before for chain in modes[name]] for name in ("lost", "crossing")}
        moved["found"] = [mode | {"chains": [chain + n_before for chain in mode["chains"]]} for mode in modes["found"]]
        merged = moved if merged is None else _add_modes(merged, moved)
        if merged is None:
            return None
        n_before += n_chains
    return merged


def _add_modes(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the modes of both, their masses shared out anew; None if their first modes are not the same."""

    def relative(modes: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [mode | {"mass": mode["mass"] / modes["found"][0]["mass"]} for mode in modes["found"]]

    found = relative(one)
    for number, mode in enumerate(relative(other)):
        same = [known for known in found if abs(known["log_density"] - mode["log_density"]) < EQUAL]
        if number == 0 and same != found[:1]:
            return None
        if same:
            for name in ("visits", "draws"):
                same[0][name] += mode[name]
            same[0]["chains"] = [*same[0]["chains"], *mode["chains"]]
        else:
            found.append(mode)
    found.sort(key=lambda mode: -mode["mass"])
    total, highest = sum(mode["mass"] for mode in found), max(mode["log_density"] for mode in found)
    found = [mode | {"mass": mode["mass"] / total, "nats": highest - mode["log_density"]} for mode in found]
    summed = {name: one[name] + other[name] for name in ("n_starts", "unfinished", "lost", "crossing")}
    return dict(one) | summed | {"found": found}


def explain_modes(modes: Mapping[str, Any], max_rhat: float | None = None) -> list[str]:
    """Say in plain language what modes mean for what is believed; empty if one carries all, and the chains are there.

    Nothing is said either of modes between which the chains go back and forth, as `max_rhat` shows.

    Examples
    --------
    >>> from bayesanno.inference.modes.found_modes import explain_modes
    >>> first = {"mass": 0.87, "chains": [0, 1, 2, 3], "draws": 20}
    >>> second = {"mass": 0.13, "chains": [], "draws": 0, "competence": [0.2, 0.8], "items_differ": 40}
    >>> print(*explain_modes({"rough": False, "crossing": [], "found": [first, second]}))
    the posterior has 2 modes, of an estimated 87% and 13% of its mass: no chain is in mode 2 (annotators at 0.20 on \
average who are at 0.80 in mode 1; 40 items with another most probable state); the draws are not in proportion to \
these masses, so that neither means nor intervals hold for all of the posterior; fit more chains, or some with \
initvals in that mode, and put them together: bayesanno.combine_modes(bayesanno.concat_chains([fit, other]))
    """
    found = modes["found"]
    if not found:
        return [
            f"the posterior's modes could not be looked for fully: of {counted(modes['n_starts'], 'start')} "
            f"{modes['unfinished']} did not reach the top of a mode, among them the one that came highest; nothing is "
            "known of how many modes there are and what they weigh: compare fits with several seeds"
        ]
    occupied = [number for number, mode in enumerate(found) if mode["chains"]]
    mixing = max_rhat is not None and max_rhat <= MAX_RHAT
    if mixing and (len(occupied) > 1 or modes["crossing"]):
        return []
    if modes["rough"]:
        return _explain_unknown(found, occupied) if len(occupied) > 1 else []
    carrying = [number for number, mode in enumerate(found) if mode["mass"] >= LEAST_MASS]
    problems = []
    if len(carrying) > 1:
        told = carrying[1 : 1 + MOST_TOLD]
        shares = [f"{found[number]['mass']:.0%}" for number in [0, *told]]
        where = "; ".join(f"{_who_is_in(found[number], number)} ({_differs(found[number])})" for number in told)
        problems.append(
            f"the posterior has {len(carrying)} modes, of an estimated {', '.join(shares[:-1])} and {shares[-1]} of "
            f"its mass: {where}; the draws are not in proportion to these masses, so that neither means nor intervals "
            f"hold for all of the posterior; {_advise([found[number] for number in carrying], modes['crossing'])}"
        )
    for number in occupied:
        if number not in carrying:
            mode = found[number]
            problems.append(
                f"{_who_is_in(mode, number)}, which carries an estimated {mode['mass']:.1%} of the posterior's mass "
                f"({_differs(mode)}): leave {'it' if len(mode['chains']) == 1 else 'them'} out, by "
                f"bayesanno.drop_chains(fit, {mode['chains']})"
            )
    return problems


def _explain_unknown(found: Sequence[Mapping[str, Any]], occupied: Sequence[int]) -> list[str]:
    """Say which chains are in which modes where what each weighs cannot be told."""
    first, *others = occupied
    where = "; ".join(f"{_who_is_in(found[at], at)} ({_differs(found[at])})" for at in others[:MOST_TOLD])
    return [
        f"{_who_is_in(found[first], first)}; {where}; what each mode weighs cannot be told of so many parameters, so "
        "that these chains cannot be averaged over: look at each mode by bayesanno.split_modes(fit), weigh them by how "
        'they predict, bayesanno.combine_modes(fit, weights="stacking"), or sample longer, if chains may yet cross'
    ]


def _advise(carrying: Sequence[Mapping[str, Any]], crossing: Sequence[int]) -> str:
    together = "bayesanno.combine_modes(fit) puts the draws together in proportion"
    if crossing:
        some = f"{'chain' if len(crossing) == 1 else 'chains'} {enumerated([str(chain) for chain in crossing])}"
        longer = f"{some} crossed between modes, so that longer chains (draws) get nearer to it"
        return f"{together}; {longer}" if all(mode["chains"] for mode in carrying) else longer
    lacking = sum(not mode["chains"] for mode in carrying)
    if not lacking:
        return together
    return (
        f"fit more chains, or some with initvals in {'that mode' if lacking == 1 else 'those modes'}, and put them "
        "together: bayesanno.combine_modes(bayesanno.concat_chains([fit, other]))"
    )


def _who_is_in(mode: Mapping[str, Any], number: int) -> str:
    chains = [str(chain) for chain in mode["chains"]]
    if not chains:
        return f"no chain is in mode {number + 1}{' most of the time' if mode['draws'] else ''}"
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


def _probable_states(model: AnnotationModel, data: Data, points: xarray.Dataset) -> np.ndarray:
    """Return the most probable state of each item in each draw, for the first of several latents: (draw, item)."""
    formula = compile_formula(model, data, points)
    back = formula.patterns.back["item"]
    first = formula.latents[0]
    return np.stack([one.probability[first].argmax(axis=1)[back] for one in formula.evaluate()])


def explain_chains(diagnostics: Mapping[str, Any]) -> list[str]:
    """Say of a fit whose chains are in several modes that its means are of no posterior, and what call weighs them.

    Examples
    --------
    >>> from bayesanno.inference.modes.found_modes import explain_chains
    >>> modes = {"found": [{"mass": 0.87, "chains": [0, 1, 3]}, {"mass": 0.13, "chains": [2]}]}
    >>> print(*explain_chains({"modes": modes, "max_rhat": 1.5}))
    the chains of this fit are in 2 modes of the posterior (0, 1, 3; 2), and nothing has weighed them: this averages \
over all chains alike; bayesanno.combine_modes(fit) puts them together by the mass of each mode, \
bayesanno.split_modes(fit) takes them apart
    """
    rhat = diagnostics.get("max_rhat")
    if rhat is not None and rhat <= MAX_RHAT:
        return []
    groups = [mode["chains"] for mode in diagnostics.get("modes", {}).get("found", []) if mode["chains"]]
    if len(groups) < 2:
        groups = (diagnostics.get("chain_modes") or {}).get("groups", [])
    if len(groups) < 2:
        return []
    where = "; ".join(", ".join(map(str, sorted(group))) for group in groups)
    return [
        f"the chains of this fit are in {len(groups)} modes of the posterior ({where}), and nothing has weighed them: "
        "this averages over all chains alike; bayesanno.combine_modes(fit) puts them together by the mass of each "
        "mode, bayesanno.split_modes(fit) takes them apart"
    ]
