"""Columns of items in the class prior, and of annotators: a regression on names and numbers; and a classifier.

    eta_ik  =  log base_rate_k + sum over effects of x_i b[level of i, k]       item i, class k: the class prior
    eta_j   =  sum over effects of x_j b[level of j]                            annotator j: log odds of being right

Symbols, and priors, for the terms of a formula; variables are named like their terms.
    length              (true_class)                        a number, standardised: ~ ZeroSumNormal(1)
    system              (system_level, true_class)          names: adds up to 0 over levels, ~ ZeroSumNormal(1)
    system:length       (system_level, true_class)          a product, in the same way
    1|language          (language_level, true_class)        partially pooled: its sd times ~ ZeroSumNormal(1)
    1|language_sd       ()                                  ~ HalfNormal(1)
    slope               ()                                  a classifier's log probabilities: ~ Normal(1, 1)
Effects on classes add up to 0 over classes; annotators have none. With two classes, an effect of one standard deviation
changes .5 to .80.
With a slope of 1 the classifier is calibrated, given the answers of annotators; with 0 it is ignored.

References.
    V. C. Raykar, S. Yu, L. H. Zhao, G. H. Valadez, C. Florin, L. Bogoni and L. Moy (2010), Learning from crowds,
    JMLR 11:1297-1322, https://jmlr.org/papers/v11/raykar10a.html: a regression that is learnt jointly with annotators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm
from bayesanno._core.messages import DataError, ModelError, counted, name_error
from bayesanno.data.columns import Column
from bayesanno.modeling.arguments import Parameters, Priors
from bayesanno.modeling.class_prior import Term, column_of

MOST_LEVELS = 1000  # of an effect: more take too long, and hardly one has enough items
LEAST_PROBABILITY = 1e-6  # of a classifier: its log is finite
INTERCEPT, SLOPE = "1", "slope"


@dataclass(frozen=True)
class Effect:
    """A term of a formula: its name, the columns that it multiplies, and its grouping column, if it is pooled."""

    name: str
    columns: tuple[str, ...]
    group: tuple[str, ...] = ()

    @property
    def sd(self) -> str:
        """The name of the standard deviation between groups."""
        return f"{self.name}_sd"

    @property
    def offset(self) -> str:
        """The name of the effects of pooled levels, in standard deviations."""
        return f"{self.name}_offset"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it uses."""
        return (*self.columns, *self.group)


@cache
def read_formula(formula: str) -> tuple[Effect, ...]:
    """Return the effects of a formula.

    Raises
    ------
    ModelError
        If the text is not a formula of columns.

    Examples
    --------
    >>> from bayesanno.modeling.columns import read_formula
    >>> [effect.name for effect in read_formula("system*length + (1 | language)")]
    ['system', 'length', 'system:length', '1|language']
    """
    from formulae.model_description import model_description
    from formulae.terms import Intercept

    if "**" in formula:
        raise ModelError(f"Columns: {formula!r} has a power: put its values into a column; products are a:b or a*b")
    try:
        found = model_description(formula.strip() or "1")
    except Exception as error:  # of any kind: each step of reading has its own
        raise ModelError(
            f"Columns: {formula!r} is no formula ({name_error(error)}): write columns as in 'system + length', groups "
            "as in '(1 | language)'"
        ) from None
    if found.response is not None:
        raise ModelError(
            f"Columns: {formula!r} has a left side: write only what the class depends on, 'system + length'"
        )

    def names_of(term: Any) -> tuple[str, ...]:
        if isinstance(term, Intercept):
            return ()
        named = [component.name for component in term.components]
        calls = [one.name for one in term.components if type(one).__name__ != "Variable"]
        if calls:
            raise ModelError(f"Columns: {calls[0]!r} is a function: put its values into a column, and name that")
        number = next((name for name in named if not isinstance(name, str)), None)
        if number is not None:
            raise ModelError(f"Columns: {formula!r} multiplies by {number}, and what it multiplies must be columns")
        return tuple(named)

    common = [Effect(term.name, names_of(term)) for term in found.common_terms if not isinstance(term, Intercept)]
    pooled = [Effect(term.name, names_of(term.expr), names_of(term.factor)) for term in found.group_terms]
    if common and not any(isinstance(term, Intercept) for term in found.common_terms):
        raise ModelError(f"Columns: {formula!r} leaves out the intercept, which base_rate is: leave out its 0 or -1")
    if not common and not pooled:
        raise ModelError(f"Columns: {formula!r} names no column")
    return (*common, *pooled)


@dataclass(frozen=True)
class Regression:
    """The effects of a formula on log odds.

    Attributes
    ----------
    effects : tuple of Effect
    columns : mapping of str to Column
        Those of the items, or of the annotators.
    outcome : tuple of str
        The dimensions of the log odds: `("true_class",)`, over which effects add up to 0, or none.
    """

    effects: tuple[Effect, ...]
    columns: Mapping[str, Column]
    outcome: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the effects use."""
        return tuple(dict.fromkeys(name for effect in self.effects for name in effect.names))

    def factors(self, effect: Effect) -> tuple[str, ...]:
        """Return the columns of an effect that are categorical."""
        return tuple(name for name in effect.names if self.columns[name].levels)

    def coords(self) -> dict[str, list[str]]:
        """Return the levels of categorical columns, by dimension."""
        return {f"{name}_level": list(levels) for name in sorted(self.names) if (levels := self.columns[name].levels)}

    def values(self) -> dict[str, np.ndarray]:
        """Return the positions of levels, or standardised numbers, of each item or annotator."""
        used = {name: self.columns[name] for name in self.names}
        return {name: one.values if one.levels else (one.values - one.mean) / one.sd for name, one in used.items()}

    def declare(self, prior: Any) -> None:
        """Declare the effects in the graph of the context."""
        graph = pm.modelcontext(None)
        for effect in self.effects:
            name, factors = effect.name, self.factors(effect)
            dims = (*(f"{factor}_level" for factor in factors), *self.outcome)
            if name in graph.coords:
                raise DataError(f"Columns: {name!r} is the name of a dimension: rename that column")
            n_axes = len(self.outcome) + len(factors) - len(effect.group)
            normal = partial(pm.ZeroSumNormal, n_zerosum_axes=n_axes) if n_axes else pm.Normal
            if not effect.group:
                normal(name, sigma=prior.coefficient_prior, dims=dims)
                continue
            sd = pm.HalfNormal(effect.sd, prior.group_sd_prior)
            pm.Deterministic(name, sd * normal(effect.offset, dims=dims), dims=dims)

    def log_odds(self, p: Any, values: Mapping[str, Any]) -> Any:
        """Return the sum of the effects for rows of values, (row, *outcome), in PyTensor or NumPy."""
        eta = 0.0
        for effect in self.effects:
            factors = self.factors(effect)
            of_level = p[effect.sd] * p[effect.offset] if effect.group else p[effect.name]
            by_row = of_level[tuple(values[name] for name in factors)] if factors else of_level[None]
            for name in effect.columns:
                if name not in factors:
                    by_row = (values[name][:, None] if self.outcome else values[name]) * by_row
            eta = eta + by_row
        return eta

    def start(self, *n_outcome: int) -> dict[str, np.ndarray]:
        """Return the parameters without effects, for log odds of this shape."""
        found: dict[str, np.ndarray] = {}
        for effect in self.effects:
            none = np.zeros((*(len(self.columns[name].levels) for name in self.factors(effect)), *n_outcome))
            found |= {effect.offset: none, effect.sd: np.array(0.5)} if effect.group else {effect.name: none}
        return found


@dataclass(frozen=True)
class Columns(Term):
    """Columns of the items, or of the annotators, as a formula.

    Parameters
    ----------
    formula : str
        A formula in the notation of R and Bambi, without a left side: `"system + length"`, `"system*length"`, or
        `"(1 | language)"` for partially pooled levels. Numbers are standardised; effects of names add up to 0.
    coefficient_prior : float, default 1
        Standard deviation of effects on the log-odds scale.
    group_sd_prior : float, default 1
        Scale of the half-normal prior of the standard deviation between pooled levels.

    Examples
    --------
    >>> import bayesanno as ba
    >>> said = [("s1", "ada", "yes"), ("s2", "bo", "no"), ("s3", "ada", "no")]
    >>> data = ba.AnnotationData.from_records(said, item_columns={"length": [7, 9, 8]})
    >>> ba.models.MACE(class_prior=ba.Columns("length")).build(data)["length"].eval().shape
    (2,)
    """

    name: ClassVar[str] = "Columns"

    formula: str
    _: KW_ONLY
    coefficient_prior: Positive = 1.0
    group_sd_prior: Positive = 1.0

    def __post_init__(self) -> None:
        """Check the formula."""
        super().__post_init__()
        read_formula(self.formula)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The terms of the formula."""
        return read_formula(self.formula)

    def of_items(self, data: Any) -> Regression:
        """Return the regression of classes on the columns of items."""
        return Regression(self.effects, data.item_columns, ("true_class",))

    def annotator_effects(self, data: Any) -> Any:
        """Declare effects of annotators' columns in the graph of the context, for the `priors` of a model of one's own.

        Parameters
        ----------
        data : AnnotationData
            With the columns of the formula among its `annotator_columns`.

        Returns
        -------
        TensorVariable, shape (annotator,)
            The sum of the effects, in log odds.

        Raises
        ------
        DataError
            If a column is missing, is the same for all annotators, or has another value for each.

        Examples
        --------
        >>> import bayesanno as ba
        >>> import pymc as pm
        >>> said = [("s1", "ada", "yes"), ("s1", "bo", "no"), ("s2", "cy", "no")]
        >>> data = ba.AnnotationData.from_records(said, annotator_columns={"family": ["x", "x", "y"]})
        >>> with pm.Model(coords=data.coords()) as graph:
        ...     effects = ba.Columns("(1 | family)").annotator_effects(data)
        >>> [variable.name for variable in graph.free_RVs], effects.eval().shape
        (['1|family_sd', '1|family_offset'], (3,))
        """
        self.check(data, "annotator")
        self.check_design(data, "annotator")
        regression, graph = Regression(self.effects, data.annotator_columns), pm.modelcontext(None)
        graph.add_coords(regression.coords())
        regression.declare(self)
        return regression.log_odds(graph.named_vars, regression.values())

    def annotator_start(self, data: Any) -> dict[str, np.ndarray]:
        """Return starting values of the parameters that `annotator_effects` declares: no effects."""
        return Regression(self.effects, data.annotator_columns).start()

    @override
    def check(self, data: Any, of: str = "item") -> None:
        for effect in self.effects:
            n_levels = 1
            for name in effect.names:
                column = column_of(data, name, "Columns", of)
                if len(column.levels) == 1 or not (column.levels or column.sd):
                    raise DataError(f"Columns: {name!r} is the same for all {of}s: leave it out")
                if name in effect.group and not column.levels:
                    raise DataError(f"Columns: {name!r} has numbers, and groups need names: give them as text")
                n_levels *= max(1, len(column.levels))
            if n_levels > MOST_LEVELS:
                raise DataError(
                    f"Columns: {effect.name!r} has {n_levels:,} levels, more than {MOST_LEVELS:,}: join some"
                )

    @override
    def check_design(self, data: Any, of: str = "item") -> None:
        n = getattr(data, f"n_{of}s")
        for name in dict.fromkeys(name for effect in self.effects for name in effect.names):
            if len(getattr(data, f"{of}_columns")[name].levels) == n:
                raise DataError(f"Columns: {name!r} has another value for each of {counted(n, of)}: leave it out")

    @override
    def columns(self, data: Any) -> dict[str, np.ndarray]:
        return self.of_items(data).values()

    @override
    def coords(self, data: Any) -> dict[str, list[str]]:
        return self.of_items(data).coords()

    @override
    def declare(self, data: Any, prior: Priors) -> None:
        self.of_items(data).declare(prior)

    @override
    def log_weights(self, data: Any, p: Parameters, columns: Mapping[str, Any]) -> Any:
        return self.of_items(data).log_odds(p, columns)

    @override
    def start(self, data: Any) -> dict[str, np.ndarray]:
        return self.of_items(data).start(data.n_classes)


@dataclass(frozen=True, kw_only=True)
class Classifier(Term):
    """The class probabilities of items from a classifier.

    Parameters
    ----------
    columns_of : str, default "p"
        The prefix of the columns: `p[yes]`, `p[no]`, ..., with the names of the classes, as in tables of labels.
    slope_prior : tuple of two floats, default (1, 1)
        Mean and standard deviation of the normal prior of the weight of its log probabilities.

    Examples
    --------
    >>> import bayesanno as ba
    >>> said = [("s1", "ada", "yes"), ("s2", "bo", "no")]
    >>> data = ba.AnnotationData.from_records(said, item_columns={"p[no]": [0.1, 0.6], "p[yes]": [0.9, 0.4]})
    >>> "slope" in ba.models.MACE(class_prior=ba.Classifier()).build(data).named_vars
    True
    """

    name: ClassVar[str] = "Classifier"

    columns_of: str = "p"
    slope_prior: tuple[float, Positive] = (1.0, 1.0)

    def _names(self, data: Any) -> list[str]:
        return [f"{self.columns_of}[{label}]" for label in data.classes]

    @override
    def check(self, data: Any) -> None:
        for name in self._names(data):
            column = column_of(data, name, "Classifier")
            outside = (column.values < 0) | (column.values > 1)
            if column.levels or outside.any():
                item = data.items[int(np.argmax(outside))]
                raise DataError(f"Classifier: {name!r} of item {item!r} is no probability between 0 and 1")
        total = sum(data.item_columns[name].values for name in self._names(data))
        if (far := np.abs(total - 1) > 0.01).any():
            at = int(np.argmax(far))
            raise DataError(
                f"Classifier: the probabilities of item {data.items[at]!r} add up to {total[at]:.3g}, and should to 1"
            )

    @override
    def columns(self, data: Any) -> dict[str, np.ndarray]:
        shares = np.stack([data.item_columns[name].values for name in self._names(data)], axis=1)
        return {self.columns_of: np.log(np.maximum(shares, LEAST_PROBABILITY))}  # (item, true_class)

    @override
    def declare(self, data: Any, prior: Priors) -> None:
        pm.Normal(SLOPE, prior.slope_prior[0], prior.slope_prior[1])

    @override
    def log_weights(self, data: Any, p: Parameters, columns: Mapping[str, Any]) -> Any:
        return p[SLOPE] * columns[self.columns_of]

    @override
    def start(self, data: Any) -> dict[str, np.ndarray]:
        return {SLOPE: np.array(self.slope_prior[0])}
