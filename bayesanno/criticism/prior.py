"""The implications of a prior before any data, in familiar numbers: how often annotators are right, and agree.

Parameters are drawn from the prior, and answers from the parameters. Quantities of annotators are computed from the
parameters; quantities of a table of answers are counted in answers drawn for the design.

The invariant: the rows of a model depend only on the model, the design and the seed, not on the other models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bayesanno._core.intervals import CiKind, choose_interval
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, counted, show_rows
from bayesanno._core.validate import check_at_least, check_seed
from bayesanno.analysis.parameters import describe_draws
from bayesanno.data.described import require_kind
from bayesanno.modeling.arguments import Discrete
from bayesanno.modeling.base import AnnotationModel, require_data
from bayesanno.modeling.item_types import ItemTypeModel
from bayesanno.modeling.kinds import Data, kind_of
from bayesanno.modeling.kinds.base import AnswerTable
from bayesanno.modeling.registry import get_model
from bayesanno.simulation import quantities as of_annotators
from bayesanno.simulation.quantities import draws_of_prior, replicate

type Measure = Callable[[np.ndarray, np.ndarray], float]  # from the states of items, and the answers
type Row = tuple[str, str, str, np.ndarray]  # dimension, quantity, of what, the values

LEAST_DRAWS = 20
MOST_ASKED = 50  # annotators evaluated per draw: the priors of the zoo treat all alike


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorDescription:
    """The implications of priors before data.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per model and number: `model`; `dimension`, with several dimensions; `quantity`; `of`, the class, type
        or label; `mean` and `sd`; `eti89_lb` and `eti89_ub`, the middle 89%. The quantities, as far as a model has
        them:

        * the model's competence, under its own name, and `accuracy` of an annotator;
        * `agreement`: how often two annotators give the same answer;
        * `prevalence` of each class, and `largest_prevalence`;
        * `usage`, in models without classes: how often an annotator gives each label;
        * `weight` and `rate` of each item type; parameters that are single numbers, by name;
        * for answers to the design: `right`, the share of right answers; `vote_right`, the share of items with a right
          majority vote (ties split); `unanimous`, the share of unanimous items among those with two or more answers;
          for counts, `positive_share` and `spread`.

        "Unsure" answers count as wrong, agree with each other, and are not votes.
    drawn : tuple of array
        The values behind each row: over draws, or over draws and annotators.
    """

    table: pd.DataFrame
    drawn: tuple[np.ndarray, ...]

    def __repr__(self) -> str:
        """Return the first rows of the table."""
        return show_rows(f"PriorDescription of {counted(self.table['model'].nunique(), 'model')}", self.table)


def describe_prior(
    models: str | AnnotationModel | Mapping[str, str | AnnotationModel],
    design: Data,
    *,
    draws: int = 500,
    ci_prob: float | None = None,
    ci_kind: CiKind = None,
    random_seed: int | None = None,
) -> PriorDescription:
    """Describe what the priors of one or several models imply before any data.

    Parameters
    ----------
    models : str, AnnotationModel, or mapping of name to such
        Models of the same data. To compare priors, give variants of a model.
    design : data of the kind that the models take
        A design, such as from `make_design`, or real data. Answers, gold and controls are ignored.
    draws : int, default 500
        Draws of the parameters, at least 20. Each gives a table of answers.
    ci_prob, ci_kind
        As in `summary`.
    random_seed : int, optional

    Returns
    -------
    PriorDescription

    Raises
    ------
    FitError
        If a model takes parameters from the data and so has no prior for them, no model is given, or there are too few
        draws.
    ModelError, DataError
        If a model is unknown, or does not take such data; if there is no such interval.

    Examples
    --------
    MACE assumes that an annotator either knows the true label or does not:

    >>> import bayesanno as ba
    >>> design = ba.make_design(items=50, annotators=4, labels=2, per_item=3, random_seed=1)
    >>> priors = {"extreme": ba.models.MACE(), "even": ba.models.MACE(competence_prior=(1, 1))}
    >>> found = ba.describe_prior(priors, design, draws=200, random_seed=1)
    >>> found.table.query("quantity == 'competence'")[["model", "of"]].to_numpy().tolist()
    [['extreme', ''], ['even', '']]
    """
    check_seed(random_seed)
    check_at_least("draws", draws, LEAST_DRAWS)
    choose_interval(ci_prob, ci_kind)  # refuses what is no interval
    named = dict(models) if isinstance(models, Mapping) else {get_model(models).name: models}
    if not named:
        raise FitError("models is empty: give at least one model")
    chosen = {name: get_model(model) for name, model in named.items()}
    first = kind_of(next(iter(chosen.values())))
    require_kind(design, first.data_class, "a study of priors")
    asked = first.without_truth(design)
    for model in chosen.values():
        require_data(model, asked)
        require_own_prior(model)
    rows, drawn = [], []
    for name, model in chosen.items():
        for dimension, quantity, of, found in _describe(model, asked, draws, np.random.default_rng(random_seed)):
            values = found.ravel()
            described = describe_draws(xr.DataArray(values[None], dims=("chain", "draw")), ci_prob, ci_kind)
            row = {"model": name, "dimension": dimension, "quantity": quantity, "of": of}
            rows.append(row | {what: value.item() for what, value in described.items()})
            drawn.append(values)
    table = pd.DataFrame(rows)
    if not any(table["dimension"]):
        table = table.drop(columns="dimension")
    return PriorDescription(table=table, drawn=tuple(drawn))


def require_own_prior(model: AnnotationModel) -> None:
    """Raise a FitError if a model takes parameters from the data, and so has no prior for them."""
    if model.without_data() != model:
        raise FitError(
            f"{model.name} takes parameters from the data, and so has no prior for them: give a variant that learns "
            f"them, such as {model.without_data()!r}"
        )


def _describe(model: AnnotationModel, design: Data, n: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yield the rows of one model, dimension by dimension."""
    drawn = draws_of_prior(model, design, n, rng)
    counted = _count_in_replicates(drawn, rng)
    for table in kind_of(model).tables(design):
        one = table.dimension
        if hasattr(table.data, "labels"):
            yield from _of_annotators(drawn, table)
        yield from (row for row in counted if row[0] == one)
    if isinstance(model, ItemTypeModel):
        yield from _of_types(model, drawn)
    for name, values in drawn.draws.data_vars.items():
        if values.ndim == 2:
            yield "", str(name), "", values.values


def _of_annotators(drawn: of_annotators.ModelDraws, table: AnswerTable) -> Iterator[Row]:
    one, data, competence, draws = table.dimension, table.data, drawn.model.competence, drawn.draws
    who = np.unique(np.linspace(0, data.n_annotators - 1, min(MOST_ASKED, data.n_annotators)).round().astype(int))
    if competence is not None and competence != of_annotators.ACCURACY:
        yield one, competence, "", draws[competence].values
    try:
        found = of_annotators.describe_annotators(drawn, dimension=one, who=who.tolist())
        pairs = who[: who.size // 2 * 2].reshape(-1, 2)
        agreement = of_annotators.describe_pairs(drawn, pairs, dimension=one) if pairs.size else pairs
    except DataError:  # models that require a fixed number of answers have no such statistics
        if of_annotators.ACCURACY in draws:
            own = draws[of_annotators.ACCURACY]
            yield one, of_annotators.ACCURACY, "", own.sel(dimension=one).values if one else own.values
        return
    if of_annotators.ACCURACY in found:
        yield one, of_annotators.ACCURACY, "", found[of_annotators.ACCURACY].values
    if agreement.size:
        yield one, "agreement", "", agreement
    if of_annotators.PREVALENCE in found:
        prevalence = found[of_annotators.PREVALENCE].transpose(..., "true_class").values
        yield from ((one, of_annotators.PREVALENCE, name, prevalence[..., k]) for k, name in enumerate(data.classes))
        yield one, "largest_prevalence", "", prevalence.max(axis=-1)
    else:
        usage = found[of_annotators.USAGE].transpose(..., "response").values
        yield from ((one, of_annotators.USAGE, name, usage[..., code]) for code, name in enumerate(data.labels))


def _of_types(model: ItemTypeModel, drawn: of_annotators.ModelDraws) -> Iterator[Row]:
    _, design, draws, known = drawn
    shape = (draws.sizes["chain"], draws.sizes["draw"])
    parameters = {str(name): values.values for name, values in draws.data_vars.items()}
    parameters |= {name: np.broadcast_to(value, (*shape, *value.shape)) for name, value in known.items()}
    rates = np.asarray(model.rate_of(parameters, design))
    for what, values in (("weight", parameters["weight"]), ("rate", rates)):
        yield from (("", what, name, values[..., code]) for code, name in enumerate(model.states(design)))


def _count_in_replicates(drawn: of_annotators.ModelDraws, rng: np.random.Generator) -> list[Row]:
    """Return the quantities counted in answers drawn for the design, one table of answers per draw."""
    model, design, kind = drawn.model, drawn.data, kind_of(drawn.model)
    latents = [latent for latent in model.latents(design) if latent.kind == "labels"]
    names = {latent.name: latent.states for latent in latents if isinstance(latent, Discrete)}
    asked = [
        (number, table, quantity, measure)
        for number, table in enumerate(kind.tables(design))
        for quantity, measure in kind.find_measures(table, names.get(table.dimension)).items()
    ]
    found = []  # (draw, quantity)
    for answers, states in replicate(drawn, rng):
        of_each = states.reshape(max(1, len(model.latents(design))), -1)  # (latent, item)
        found.append([measure(of_each[number], answers[table.own]) for number, table, _, measure in asked])
    values = np.array(found).T
    return [(table.dimension, quantity, "", own) for (_, table, quantity, _), own in zip(asked, values, strict=True)]
