"""A view of a fit: its model, data, posterior and diagnostics, each read from the tree once, and its parts.

A part is one table of items with its posterior; each dimension is one part. `parts_of` is the one function that tables,
decisions, exports, plots, predictions and planning read labels by.

The invariant: a view reflects one tree. It is made where a user passes in a fit, handed down, and discarded at the end
of the call; nothing is kept between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError, as_names, option
from bayesanno.data.described import split_dimensions
from bayesanno.data.totals import AnnotationTotals
from bayesanno.fits.storage import (
    data_of,
    diagnostics_of,
    groups_by_dimension,
    is_on_dask,
    model_of,
    read_by_dimension,
    refuse_items,
    require_fit,
    require_tree,
    totals_of,
)
from bayesanno.modeling.arguments import (
    CORRECT,
    ENTROPY,
    LABEL_PROBABILITY,
    LOG_PROBABILITY,
    MEAN,
    PROBABILITY,
    TRUE_CLASS,
    measure_entropy,
    require_latents,
)
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.kinds import kind_of

LATENT = "latent"  # the group with the model's posterior of items
LABELS = "labels"  # the group with adjusted or recalibrated probabilities of labels
CHECK = "check"  # the group with the adjustment that the check of a fit suggests
ADJUSTMENT = "adjustment"  # the group, and the attribute, of a fit whose labels were adjusted by its check
RECALIBRATION = "recalibration"  # the group, and the attribute, of a fit whose labels were recalibrated
PartKind = Literal["labels", "types", "values", "none"]
Yields = Literal["mcmc", "approximation", "point", "combination"]


type Fit = xr.DataTree | FitView  # what functions of fits take


@dataclass(frozen=True, eq=False)
class FitView:
    """A fit as the subpackages above read it.

    Parameters
    ----------
    tree : xarray.DataTree
        The fit.
    """

    tree: xr.DataTree

    @cached_property
    def model(self) -> AnnotationModel:
        """The model, with its priors."""
        return model_of(self.tree)

    @cached_property
    def data(self) -> Any:
        """The data, of the class that the model takes."""
        return data_of(self.tree)

    @cached_property
    def named_data(self) -> Any:
        """The data, or, for a fit that holds none, their totals: the annotators and their numbers of annotations."""
        return totals_of(self.tree) if is_on_dask(self.tree) else self.data

    @cached_property
    def posterior(self) -> xr.Dataset:
        """The draws of the parameters, dims (chain, draw, ...)."""
        return self._group("posterior")

    @cached_property
    def latents(self) -> dict[str, xr.Dataset]:
        """The posterior of the items' states, and quantities derived from it, by dimension; "" without dimensions."""
        require_fit(self.tree)
        if is_on_dask(self.tree):
            refuse_items()
        return read_by_dimension(self.tree, LATENT) if LATENT in self.tree.children else {}

    @property
    def has_population(self) -> bool:
        """Whether the model learns a population of annotators, from which new ones can be drawn."""
        return self.model.overrides("draw_annotators")

    @property
    def has_item_parameters(self) -> bool:
        """Whether items have parameters of their own, which new items lack."""
        return "item" in self.posterior.dims

    def derives(self, name: str) -> bool:
        """Whether the model derives a quantity of items or annotations of this name."""
        return not is_on_dask(self.tree) and any(name in latent for latent in self.latents.values())

    @cached_property
    def known(self) -> dict[str, np.ndarray]:
        """The fixed parameters of the model; models that are fitted on Dask have none."""
        if is_on_dask(self.tree):
            return {}
        constant = self._group("constant_data")
        return {name: constant[name].values for name in self.model.fixed_parameters(self.data)}

    @cached_property
    def yields(self) -> Yields:
        """What the method yields: draws from chains, draws from an approximation, or a point estimate."""
        require_fit(self.tree)
        return self.tree.attrs["yields"]

    @property
    def is_adjusted(self) -> bool:
        """Whether the labels were adjusted by the check of the fit."""
        return ADJUSTMENT in self.tree.children

    @property
    def is_recalibrated(self) -> bool:
        """Whether the labels were recalibrated with known ones, so that they do not depend on the draws alone."""
        return RECALIBRATION in self.tree.children

    @cached_property
    def convergence(self) -> xr.Dataset | None:
        """R-hat and ESS of each variable of the posterior, dims ("diagnostic", ...); None without chains.

        The diagnostics are "ess_bulk", "ess_tail" and "r_hat", which is nan for a single chain.
        """
        return self.tree["convergence"].to_dataset() if "convergence" in self.tree.children else None

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """The result of `diagnostics_of`."""
        return diagnostics_of(self.tree)

    def _group(self, name: str) -> xr.Dataset:
        if name not in self.tree.children:
            require_fit(self.tree)  # its error names what is missing
        return self.tree[name].to_dataset()


def view_of(fit: xr.DataTree | FitView) -> FitView:
    """Return a view of a fit, or the view itself.

    Raises
    ------
    FitError
        If the value is not a tree. If the tree is not a fit by bayesanno, the error comes when missing parts are read.
    """
    if isinstance(fit, FitView):
        return fit
    require_tree(fit)
    return FitView(fit)


def require_as_fitted(fit: xr.DataTree | FitView, what: str) -> FitView:
    """Return a view of a fit, or raise a FitError if it was recalibrated: the function `what` reads its draws."""
    view = view_of(fit)
    if view.is_recalibrated:
        raise FitError(
            f"this fit was recalibrated, but {what} computes labels from the draws: give it the original fit, and "
            "recalibrate the result"
        )
    return view


# -------------------------------------------------------------------------------------------------- the parts of a fit


@dataclass(frozen=True, eq=False)
class FitPart:
    """One table of items with the posterior of what is unknown of them.

    Parameters
    ----------
    data : data of any kind, or AnnotationTotals
        The table, or the totals of annotations on a cluster, without items.
    latent : xarray.Dataset
        The model's posterior of its items, under the names above.
    dimension : str
        The name of the dimension, for data with several.
    labels : xarray.Dataset, optional
        The adjusted or recalibrated probabilities of labels, which are read in place of the model's.
    """

    data: Any
    latent: xr.Dataset
    dimension: str = ""
    labels: xr.Dataset | None = None

    @property
    def of_model(self) -> Self:
        """The same with the model's own probabilities."""
        return replace(self, labels=None)

    @property
    def probabilities(self) -> xr.Dataset:
        """The probabilities of states that all tables read, under the names above."""
        return self.latent if self.labels is None else self.labels

    @property
    def posterior(self) -> xr.DataArray:
        """The posterior of each item's true label, or of its state if states are not labels: (item, state)."""
        return self.probabilities[LABEL_PROBABILITY if LABEL_PROBABILITY in self.latent else PROBABILITY]

    @property
    def states(self) -> list[str]:
        """The names of the columns of `posterior`; none if items have neither labels nor types."""
        if self.kind not in ("labels", "types"):
            return []
        return [str(state) for state in self.posterior[self.posterior.dims[1]].values]

    @property
    def kind(self) -> PartKind:
        """What the model knows of items: the probabilities of labels or of item types, values, or nothing."""
        if MEAN in self.latent:
            return "values"
        if PROBABILITY not in self.latent:
            return "none"
        return "labels" if TRUE_CLASS in self.latent[PROBABILITY].dims else "types"

    @property
    def best(self) -> np.ndarray:
        """The name of each item's most probable state, (item,)."""
        return np.array(self.states, dtype=object)[self.posterior.values.argmax(axis=1)]

    @property
    def right(self) -> np.ndarray:
        """Whether each item's most probable label is the true one, (item,); nan if unknown."""
        gold = np.array([self.gold.get(item, "") for item in self.data.items], dtype=object)
        return np.where(gold != "", gold == self.best, np.nan).astype(float)

    @property
    def gold(self) -> Mapping[str, str]:
        """Known true labels, item -> label; may be empty."""
        return getattr(self.data, "gold", {})

    @property
    def votes(self) -> np.ndarray | None:
        """How many annotators gave an item a label, (item, label); None for counts, which have no annotators."""
        return getattr(self.data, "votes", None)

    @property
    def entropy(self) -> np.ndarray:
        """The entropy of the posterior of each item's label or type, in nats: (item,)."""
        return measure_entropy(self.posterior.values)

    def select(self, draws: xr.DataArray) -> xr.DataArray:
        """Return the draws of this dimension, from draws with one or several dimensions."""
        return draws.sel(dimension=self.dimension) if "dimension" in draws.dims else draws

    def tabulate(self) -> pd.DataFrame:
        """Return a table with one row per item: the posterior of its states, and its answers."""
        return kind_of(self.data).tabulate_items(self)


# ----------------------------------------------------------------------------------------- the posterior of labels


def log_label_posterior(part: FitPart, logs: np.ndarray | None = None) -> np.ndarray:
    """Return the log posterior of each item's label, (item, label), in the fit, or in one draw with these `logs`.

    If the last state is that nobody gave the true label, its probability is spread over the labels not given, in the
    same way as in the posterior of labels.
    """
    logs = np.asarray(part.probabilities[LOG_PROBABILITY].values if logs is None else logs)  # (item, state)
    if LABEL_PROBABILITY not in part.latent:
        return logs
    was_said = part.data.votes > 0  # (item, label)
    spread = np.where(was_said, 0.0, part.probabilities[LABEL_PROBABILITY].values)
    total = spread.sum(axis=1, keepdims=True)
    spread = np.where(total > 0, spread, ~was_said)  # evenly, if the probabilities underflow to 0
    with np.errstate(divide="ignore"):
        share = np.log(spread) - np.log(spread.sum(axis=1, keepdims=True).clip(np.finfo(float).tiny))
        return np.where(was_said, logs[:, :-1], logs[:, -1:] + share)


def is_given(part: FitPart) -> np.ndarray:
    """Return whether an item was a control in the fit: (item,)."""
    return np.array([item in part.data.controls for item in part.data.items], dtype=bool)


def with_posterior(part: FitPart, logs: np.ndarray) -> FitPart:
    """Return a part with these log probabilities of labels (item, label), except those of controls."""
    logs = np.where(is_given(part)[:, None], log_label_posterior(part), logs)
    probability, latent = np.exp(logs), part.latent
    probability /= probability.sum(axis=1, keepdims=True)
    values = {PROBABILITY: probability, LOG_PROBABILITY: logs}
    if LABEL_PROBABILITY in latent:
        was_said = part.data.votes > 0  # (item, label)
        none_said = np.logaddexp.reduce(np.where(was_said, -np.inf, logs), axis=1, keepdims=True)
        log_states = np.concatenate([np.where(was_said, logs, -np.inf), none_said], axis=1)
        values = {PROBABILITY: np.exp(log_states), LOG_PROBABILITY: log_states, LABEL_PROBABILITY: probability}
    values[ENTROPY] = measure_entropy(values[PROBABILITY])
    if CORRECT in latent:
        values[CORRECT] = probability[part.data.item, part.data.label]
    labels = latent[[*values]].assign({name: latent[name].copy(data=of) for name, of in values.items()})
    return replace(part, labels=labels)


def label_groups(parts: Sequence[FitPart]) -> dict[str, xr.Dataset]:
    """Return the groups of a fit with the probabilities of labels, from parts that `with_posterior` returned."""
    return groups_by_dimension(LABELS, {part.dimension: part.labels for part in parts if part.labels is not None})


# ------------------------------------------------------------------------------------------------- all of a fit


def split_data(data: Any, latents: Mapping[str, xr.Dataset]) -> list[FitPart]:
    """Return the parts of a fit's data, or of new data, each with the posterior of its own items."""
    tables = split_dimensions(data).items()
    return [FitPart(table, latents.get(dimension, xr.Dataset()), dimension) for dimension, table in tables]


def require_states(view: FitView, who: str) -> list[FitPart]:
    """Return the parts of a fit whose items have labels or types; otherwise as `require`."""
    parts = parts_of(view)
    return parts if {part.kind for part in parts} <= {"labels", "types"} else require(view, "labels", who)


def require(view: FitView, what: PartKind, who: str) -> list[FitPart]:
    """Return the parts of a fit whose items have what a function, `who`, asks for.

    Raises
    ------
    FitError
        If the model of the fit knows something else of items, or nothing; the message names the table that has it.
    """
    require_latents(view.model, view.named_data, what, who)
    return parts_of(view)


def parts_of(view: FitView, *, need_items: bool = True) -> list[FitPart]:
    """Return the parts of a fit: one for each dimension, or the only one.

    Raises
    ------
    FitError
        If items are needed and the fit holds none, such as a fit made on a cluster.
    """
    if not need_items and isinstance(view.named_data, AnnotationTotals):
        return [FitPart(view.named_data, xr.Dataset())]
    labels = read_by_dimension(view.tree, LABELS) if LABELS in view.tree.children else {}
    return [replace(part, labels=labels.get(part.dimension)) for part in split_data(view.data, view.latents)]


def part_of(view: FitView, dimension: str | None, *, need_items: bool = True) -> FitPart:
    """Return the part of a dimension, or the only part of data without dimensions.

    Raises
    ------
    FitError
        If the dimension is unknown, or there are several and none is named; or as from `parts_of`.
    """
    parts = {part.dimension or None: part for part in parts_of(view, need_items=need_items)}
    if dimension not in parts and None in parts:
        raise FitError(f"this fit has no dimensions: leave out {option('dimension', dimension)}")
    if dimension not in parts:
        wrong = "" if dimension is None else f", and none {dimension!r}"
        raise FitError(f"this fit has dimensions {', '.join(map(str, parts))}{wrong}: name one ({option('dimension')})")
    return parts[dimension]


def find_positions(what: str, chosen: str | Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the positions, among those of a fit, of annotators or items (`what`) that a user named.

    Raises
    ------
    FitError
        If one is not among them.
    """
    place = {name: position for position, name in enumerate(names)}
    chosen = as_names(chosen)
    for name in chosen:
        if name not in place:
            raise FitError(f"{what} {name!r} is not in this fit, which has {len(names)}, {names[0]!r} first")
    return [place[name] for name in chosen]


def concat_parts(parts: Sequence[FitPart], tabulate: Callable[[FitPart], pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of all parts, one below the other; with several dimensions, `dimension` is the first column."""
    tables = {part.dimension: tabulate(part) for part in parts}
    if "" in tables:
        return tables[""]
    return pd.concat(tables, names=["dimension", None]).reset_index(level="dimension").reset_index(drop=True)
