"""A view of a fit: its model, data, posterior and diagnostics, each read from the tree once, and its parts.

A part is one table of items with its posterior; each dimension is one part. `parts_of` is the one function that tables,
decisions, exports, plots, predictions and planning read labels by.

The invariant: a view reflects one tree. It is made where a user passes in a fit, handed down, and discarded at the end
of the call; nothing is kept between calls. Only `split_data` and `recode` depend on the kind of data: a new kind needs
entries there, and possibly its own `FitPart`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any, Literal, Self

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, as_names, listed, option
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.columns import extend_columns
from bayesanno.data.counts import CountData
from bayesanno.data.described import split_dimensions
from bayesanno.data.dimensions import MultiAnnotationData, join_dimensions
from bayesanno.data.frame import name_winners
from bayesanno.data.labelled import divide
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
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.latents import ITEM_TYPE

LATENT = "latent"  # the group with the model's posterior of items
LABELS = "labels"  # the group with adjusted or recalibrated probabilities of labels
CHECK = "check"  # the group with the adjustment that the check of a fit suggests
ADJUSTMENT = "adjustment"  # the group, and the attribute, of a fit whose labels were adjusted by its check
RECALIBRATION = "recalibration"  # the group, and the attribute, of a fit whose labels were recalibrated
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
        return read_by_dimension(self.tree, LATENT)

    @property
    def has_population(self) -> bool:
        """Whether the model learns a population of annotators, from which new ones can be drawn."""
        return self.model.overrides("draw_annotators")

    @property
    def has_severity(self) -> bool:
        """Whether the annotators of the model have a severity, and noise of their own, in grades."""
        return "severity" in self.posterior

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

# The variables in a fit's latent, of each dimension or of the only table, that tables read.
PROBABILITY = "probability"  # (item, state)
LOG_PROBABILITY = "log_probability"  # (item, state); precise even if the probability rounds to 1
PROBABILITY_MCSE = "probability_mcse"  # (item, state)
ENTROPY = "entropy"  # (item,), nats
LABEL_PROBABILITY = "label_probability"  # (item, label), if the last state is that nobody gave the true label
HARD = "hard"  # (item,), P(the item is of the hard type)
CORRECT = "correct"  # (annotation,), P(the annotator is right), in models that infer it
DIFFICULTY = "difficulty"  # (item,), the expected difficulty, if items have one


def measure_entropy(probability: np.ndarray) -> np.ndarray:
    """Return the entropy of posteriors (item, label), in nats; shape (item,)."""
    from scipy.special import entr

    return entr(probability).sum(axis=1)


def tabulate_posterior(
    items: Any,
    states: Sequence[str],
    probability: np.ndarray,
    n_annotations: np.ndarray,
    votes: np.ndarray | None,
    *,
    name: str = "label",
    model: np.ndarray | None = None,
) -> pd.DataFrame:
    """Return the first columns of a table of labels, from posteriors (item, state), and votes (item, label) if any.

    `model` are the model's own posteriors (item, state), if the others are adjusted or recalibrated.
    """
    best, entropy = probability.argmax(axis=1), measure_entropy(probability)
    table = pd.DataFrame(
        {
            "item": pd.Series(items, dtype="str"),
            name: pd.Series([states[state] for state in best], dtype="str"),
            "probability": probability.max(axis=1),
            "entropy": entropy,
            "n_annotations": n_annotations,
        }
    )
    for code, state in enumerate(states):
        table[f"p[{state}]"] = probability[:, code]
    if model is not None:
        table["model_probability"] = model[np.arange(len(model)), best]
        table[[f"model_p[{state}]" for state in states]] = model
    if votes is not None:
        table["weight"] = (1 - entropy / np.log(max(len(states), 2))).clip(0, 1)
        said = votes[:, : len(states)]  # without unsure answers
        table["agreement"] = divide(said[np.arange(len(said)), best], said.sum(axis=1))
    return table


@dataclass(frozen=True, eq=False)
class FitPart:
    """One table of items with the posterior of their states; this class is for annotations.

    Parameters
    ----------
    data : AnnotationData, CountData or AnnotationTotals
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
        """The names of the columns of `posterior`."""
        return [str(state) for state in self.posterior[self.posterior.dims[1]].values]

    @property
    def is_of_types(self) -> bool:
        """Whether the states are item types, which have no gold."""
        return ITEM_TYPE in self.posterior.dims

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
        """Return the label table, one row per item: the most probable label, or type, and the posterior of each."""
        data, name = self.data, ITEM_TYPE if self.is_of_types else "label"
        n_annotations = np.bincount(data.item, minlength=data.n_items)
        votes = None if self.is_of_types else self.votes
        model = None if self.labels is None else self.of_model.posterior.values
        items, posterior = list(data.items), self.posterior.values
        table = tabulate_posterior(items, self.states, posterior, n_annotations, votes, name=name, model=model)
        if data.has_systems:
            winners = name_winners(data, table["label"], range(data.n_items))
            table.insert(2, "winner", pd.Series(winners, dtype="str"))
        for what in (HARD, DIFFICULTY):
            if what in self.latent:
                table[what] = self.latent[what].values
        if LABEL_PROBABILITY in self.latent:
            table["p_none"] = self.probabilities[PROBABILITY].values[:, -1]
        if self.gold:
            table["gold"] = pd.Series([self.gold.get(item, "") for item in data.items], dtype="str")
        return table


class CountPart(FitPart):
    """A table of successes and trials, without annotators and true labels."""

    def tabulate(self) -> pd.DataFrame:
        """Return the label table: the posterior of each type, and the counts."""
        table = pd.DataFrame({"item": pd.Series(list(self.data.items), dtype="str")})
        for code, state in enumerate(self.states):
            table[f"p[{state}]"] = self.posterior.values[:, code]
        table["successes"], table["trials"] = self.data.successes, self.data.trials
        if HARD in self.latent:
            table["hard"] = self.latent[HARD].values
        return table


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


# ---------------------------------------------------------------------------------------------- the kinds of data


@singledispatch
def split_data(data: Any, latents: Mapping[str, xr.Dataset]) -> list[FitPart]:
    """Return the parts of a fit's data, or of new data, each with the posterior of its own items."""
    raise NotImplementedError(f"{type(data).__name__} has no tables: register it here")  # abstract


@split_data.register(AnnotationData)
@split_data.register(MultiAnnotationData)
def _(data: Any, latents: Mapping[str, xr.Dataset]) -> list[FitPart]:
    return [FitPart(table, latents[dimension], dimension) for dimension, table in split_dimensions(data).items()]


@split_data.register(CountData)
def _(data: CountData, latents: Mapping[str, xr.Dataset]) -> list[FitPart]:
    return [CountPart(data, latents[""])]


@singledispatch
def recode(known: Any, new: Any, model: AnnotationModel) -> Any:
    """Return new data of the same kind as a fit's, with the codes of the fit's annotators and labels.

    In a model with a population, new annotators come after those of the fit.

    Raises
    ------
    DataError
        If a label, a dimension or (in models without a population) an annotator is not among those of the fit, or the
        model cannot take the new items.
    """
    raise NotImplementedError(f"new data cannot be compared with {type(known).__name__}: register it")  # abstract


@recode.register(AnnotationData)
@recode.register(MultiAnnotationData)
def _(known: Any, new: Any, model: AnnotationModel) -> Any:
    before, now = split_dimensions(known), split_dimensions(new)
    if set(before) != set(now):
        raise DataError(
            f"the dimensions of this fit are {listed(tuple(before))}, and the new data have "
            f"{listed(tuple(now))}: give all of the fit's and no others"
        )
    takes_new = model.overrides("draw_annotators")
    recoded = join_dimensions({name: _recode_table(part, now[name], takes_new) for name, part in before.items()})
    model.check(recoded)
    return recoded


@recode.register(CountData)
def _(known: CountData, new: CountData, model: AnnotationModel) -> CountData:
    # One new item need not show all types: the model is checked with the new items and the fit's together.
    items = (*new.items, *(f"{item} (of the fit)" for item in known.items))
    successes, trials = (np.concatenate([getattr(data, of) for data in (new, known)]) for of in ("successes", "trials"))
    model.check(CountData(items=items, successes=successes, trials=trials))
    return new


def _recode_table(known: AnnotationData, new: AnnotationData, takes_new_annotators: bool) -> AnnotationData:
    codes, annotators = {}, known.annotators
    if takes_new_annotators:
        annotators += tuple(name for name in new.annotators if name not in set(known.annotators))
    for what, names in (("annotator", annotators), ("label", known.labels)):
        code_of = {name: code for code, name in enumerate(names)}
        unknown = [name for name in getattr(new, f"{what}s") if name not in code_of]
        if unknown:
            raise DataError(
                f"{what} {unknown[0]!r} is not among the {len(names)} {what}s of this fit: "
                "leave those answers out, or fit again with them"
            )
        codes[what] = np.array([code_of[name] for name in getattr(new, f"{what}s")])[getattr(new, what)]
    same = {name: getattr(known, name) for name in ("labels", "unsure", "order_declared")}
    columns = dict(new.item_columns)
    for name in columns.keys() & known.item_columns.keys():
        columns[name] = columns[name].recode(known.item_columns[name], name)
    columns_of = extend_columns(known.annotator_columns, known.n_annotators, len(annotators))
    return replace(new, **codes, annotators=annotators, item_columns=columns, annotator_columns=columns_of, **same)


# ------------------------------------------------------------------------------------------------- all of a fit


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
