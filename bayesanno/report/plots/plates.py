"""A plate diagram of a model: what depends on what, and what is repeated for each item and each annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch

from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.kinds import Data, kind_of
from bayesanno.modeling.process import ProcessGraph, describe_process
from bayesanno.modeling.registry import get_model
from bayesanno.report.plots import style

Point = tuple[float, float]
WIDTH, HEIGHT = 1.15, 0.62  # of a node, in the units of the axes, which are inches
STEP = (1.32, 1.0)  # between nodes
MARGIN = 0.22  # between a plate and what is in it
SHADED = "#d9d9d9"  # what is observed
NAMES = {"annotations": "answers"}
LONGEST = 12  # letters of a name on one line
BELOW = 0.58  # how far an arrow that passes below a node is from its centre


def plot_plates(
    model: str | AnnotationModel, data: Data | None = None, *, figsize: style.Size = None, ax: Axes | None = None
) -> Figure:
    r"""Draw a model as a plate diagram, from its graph and its generative process.

    Parameters
    ----------
    model : str or AnnotationModel
    data : data of the kind that the model takes, optional
        Whose numbers of items and annotators are written on the plates; otherwise they are I and J.
    figsize, ax
        As in `plot_coverage`.

    Returns
    -------
    matplotlib.figure.Figure
        A box for each parameter with a prior, with its dimensions beside annotators; for the latent state of an item,
        and any number of its own such as a difficulty, dashed, since they are summed out; and for the answers, and
        parameters computed from the data, shaded, since they are known. Numbers that only set the priors of parameters,
        such as the ends of a scale, are left out. An arrow leads from each to what depends on it
        directly. What is on a plate is there once for each item, or each annotator.

    Raises
    ------
    ModelError
        If the model is unknown.
    DataError
        If the data are not of the kind that the model takes.

    Examples
    --------
    >>> import bayesanno as ba
    >>> figure = ba.plot_plates("mace")
    >>> sorted(text.get_text() for text in figure.axes[0].texts)[:3]
    ['annotator\nj = 1 ... J', 'answers', 'competence']
    """
    model = get_model(model)
    some = kind_of(model).make_smallest() if data is None else data
    process = _without_scales(describe_process(model, some))
    n_items = "I" if data is None else f"{data.n_items:,}"
    n_annotators = "J" if data is None else f"{getattr(data, 'n_annotators', 0):,}"
    places = _place(process)
    xs, ys = zip(*places.values(), strict=True)
    width, height = (max(along) - min(along) + 5 * MARGIN for along in (xs, ys))
    axes = style.open_axes(height + HEIGHT, {"ax": ax}, width=width + WIDTH)
    axes.axis("off")
    axes.set_aspect("equal")
    of_items = [name for name in (process.state, *process.numbers, process.answers) if name]
    _draw_plate(axes, [places[name] for name in of_items], f"item i = 1 ... {n_items}", below=True)
    if hasattr(some, "n_annotators"):  # each answer is an annotator's
        inside = [places[name] for name in [*_of_annotators(process), process.answers]]
        _draw_plate(axes, inside, f"annotator j = 1 ... {n_annotators}", below=False)
    nodes = {name: _draw_node(axes, place, name, process) for name, place in places.items()}
    for parent, child in process.edges:
        ends: dict[str, Any] = {"patchA": nodes[parent], "patchB": nodes[child], "shrinkA": 0, "shrinkB": 0}
        if process.state and parent in process.numbers and child == process.answers:  # below the state between them
            distance = places[child][0] - places[parent][0]
            ends["connectionstyle"] = f"arc3,rad={2 * BELOW / distance}"
        arrow = FancyArrowPatch(places[parent], places[child], arrowstyle="-|>", mutation_scale=11, **ends)
        arrow.set(color=style.INK, linewidth=1.0)
        axes.add_patch(arrow)
    axes.set(
        xlim=(min(xs) - WIDTH / 2 - 2 * MARGIN, max(xs) + WIDTH / 2 + 2 * MARGIN),
        ylim=(min(ys) - HEIGHT / 2 - 2.4 * MARGIN, max(ys) + HEIGHT / 2 + 2.4 * MARGIN),
    )
    return style.finish(axes, figsize=figsize, ax=ax)


def _without_scales(process: ProcessGraph) -> ProcessGraph:
    """Return a process without what is known and sets only the priors of parameters that all annotators share."""
    shared = {name for name, dims in process.dims.items() if "annotator" not in dims}
    children = {name: {child for parent, child in process.edges if parent == name} for name in process.known}
    dims = {name: dims for name, dims in process.dims.items() if not children.get(name, {""}) <= shared}
    edges = tuple(edge for edge in process.edges if edge[0] not in process.known or edge[0] in dims)
    return replace(process, dims=dims, known=tuple(name for name in process.known if name in dims), edges=edges)


def _of_annotators(process: ProcessGraph) -> list[str]:
    return [name for name, dims in process.dims.items() if "annotator" in dims]


def _place(process: ProcessGraph) -> dict[str, Point]:
    """Return where each node is.

    Numbers of an item, its state and the answers are side by side; annotators' parameters are above the answers, and
    what these depend on above them; what the state depends on is above it, and what answers alone depend on below.
    """
    own = _of_annotators(process)
    others = [name for name in process.dims if name not in own]
    of_own = {name: [at for at, one in enumerate(own) if (name, one) in process.edges] for name in others}
    above = sorted(filter(of_own.get, others), key=lambda name: fmean(of_own[name]))  # so that few arrows cross
    to_state = [name for name in others if name not in above and (name, process.state) in process.edges]
    to_answers = [name for name in others if name not in above and name not in to_state]
    across, up = STEP
    x = across * 1.2  # of the answers
    rows = [(own, x, up), (above, x, 2.3 * up), (to_answers, x, -1.4 * up)]
    left = [name for name in (process.state, *process.numbers) if name]
    places = {process.answers: (x, 0.0)} | {name: (-across * at, 0.0) for at, name in enumerate(left)}
    places |= {name: (left + across * at, y) for row, left, y in rows for at, name in enumerate(row)}
    places |= {name: (-across * at, 1.4 * up) for at, name in enumerate(to_state)}
    return places


def _draw_plate(axes: Axes, inside: Sequence[Point], name: str, *, below: bool) -> None:
    """Draw a plate around nodes, with what it repeats in a corner that no other plate has."""
    xs, ys = zip(*inside, strict=True)
    room = MARGIN if below else 0.5 * MARGIN  # so that edges of two plates do not lie on each other
    left, low = min(xs) - WIDTH / 2 - room, min(ys) - HEIGHT / 2 - room - (MARGIN if below else 0)
    right, high = max(xs) + WIDTH / 2 + room, max(ys) + HEIGHT / 2 + room + (0 if below else MARGIN)
    box = _draw_box(axes, left, low, right, high, rounding=0.1)
    box.set(facecolor="none", edgecolor=style.PALE, linewidth=1.0)
    if not below and len(set(xs)) > 1:  # room beside the answers, where no arrow passes
        name, high = name.replace(" ", "\n", 1), low + 0.46
    at = (left + 0.1, low + 0.08) if below else (right - 0.1, high - 0.08)
    under = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # arrows pass behind
    sides: dict[str, Any] = {"ha": "left", "va": "bottom"} if below else {"ha": "right", "va": "top"}
    axes.text(*at, name, fontsize=style.SMALLEST, color=style.INK, bbox=under, zorder=3, **sides)


def _draw_node(axes: Axes, place: Point, name: str, process: ProcessGraph) -> Patch:
    observed, latent = name in (process.answers, *process.known), name in (process.state, *process.numbers)
    x, y = place
    box = _draw_box(axes, x - WIDTH / 2, y - HEIGHT / 2, x + WIDTH / 2, y + HEIGHT / 2, rounding=0.25)
    box.set(facecolor=SHADED if observed else "white", linestyle="--" if latent else "-")
    box.set(edgecolor=style.INK, linewidth=1.2)
    dims = [dim for dim in process.dims.get(name, ()) if dim != "annotator"]
    caption = "observed" if name == process.answers else "summed out" if latent else " x\n".join(dims)
    if name in process.known:
        caption = "from the data"
    shown = NAMES.get(name, name)
    if len(shown) > LONGEST:
        shown = "_\n".join(shown.rsplit("_", 1))
    centred: dict[str, Any] = {"ha": "center", "va": "center", "color": style.INK}
    up, down = (0.2, 0.1) if "\n" in caption else (0.11, 0.16)
    axes.text(x, y + (up if caption else 0), shown, fontsize=style.NORMAL, weight="bold", **centred)
    if caption:
        axes.text(x, y - down, caption, fontsize=style.SMALLEST, linespacing=1.15, **centred)
    return box


def _draw_box(axes: Axes, left: float, low: float, right: float, high: float, *, rounding: float) -> Patch:
    style = f"round,pad=0,rounding_size={rounding}"
    return axes.add_patch(FancyBboxPatch((left, low), right - left, high - low, boxstyle=style))
