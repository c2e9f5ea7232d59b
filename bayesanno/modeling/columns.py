"""Item columns in the class prior: a regression on names and numbers, and the probabilities of a classifier.

    eta_ik  =  log base_rate_k + sum over effects of x_i b[level of i, k]

Symbols, and priors, for the terms of a formula; variables are named like their terms.
    length              (true_class)                        a number, standardised: ~ ZeroSumNormal(1)
    system              (system_level, true_class)          names: adds up to 0 over levels, ~ ZeroSumNormal(1)
    system:length       (system_level, true_class)          a product, in the same way
    1|language          (language_level, true_class)        partially pooled: its sd times ~ ZeroSumNormal(1)
    1|language_sd       ()                                  ~ HalfNormal(1)
    slope               ()                                  a classifier's log probabilities: ~ Normal(1, 1)
Effects add up to 0 over classes. With two classes, an effect of one standard deviation changes .5 to .80.
With a slope of 1 the classifier is calibrated, given the answers of annotators; with 0 it is ignored.

References.
    V. C. Raykar, S. Yu, L. H. Zhao, G. H. Valadez, C. Florin, L. Bogoni and L. Moy (2010), Learning from crowds,
    JMLR 11:1297-1322, https://jmlr.org/papers/v11/raykar10a.html: a regression that is learnt jointly with annotators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.errors import DataError, ModelError
from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm
from bayesanno._core.wording import counted, name_error
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

    def factors(self, data: Any) -> tuple[str, ...]:
        """Return the columns that are categorical."""
        return tuple(name for name in (*self.columns, *self.group) if data.item_columns[name].levels)

    def dims(self, data: Any) -> tuple[str, ...]:
        """Return the dimensions of the variable."""
        return (*(f"{name}_level" for name in self.factors(data)), "true_class")


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
class Columns(Term):
    """Columns of the items, as a formula.

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

    @override
    def check(self, data: Any) -> None:
        for effect in self.effects:
            n_levels = 1
            for name in (*effect.columns, *effect.group):
                column = column_of(data, name, "Columns")
                if len(column.levels) == 1 or not (column.levels or column.sd):
                    raise DataError(f"Columns: {name!r} is the same for all items: leave it out")
                if name in effect.group and not column.levels:
                    raise DataError(f"Columns: {name!r} has numbers, and groups need names: give them as text")
                n_levels *= max(1, len(column.levels))
            if n_levels > MOST_LEVELS:
                raise DataError(
                    f"Columns: {effect.name!r} has {n_levels:,} levels, more than {MOST_LEVELS:,}: join some"
                )

    @override
    def check_design(self, data: Any) -> None:
        for name in dict.fromkeys(name for effect in self.effects for name in effect.factors(data)):
            n_levels = len(data.item_columns[name].levels)
            if n_levels == data.n_items:
                raise DataError(
                    f"Columns: {name!r} has another value for each of {counted(n_levels, 'item')}: leave it out"
                )

    @override
    def columns(self, data: Any) -> dict[str, np.ndarray]:
        found = {}
        for name in dict.fromkeys(name for effect in self.effects for name in (*effect.columns, *effect.group)):
            column = data.item_columns[name]
            found[name] = column.values if column.levels else (column.values - column.mean) / column.sd
        return found

    @override
    def coords(self, data: Any) -> dict[str, list[str]]:
        named = {name for effect in self.effects for name in effect.factors(data)}
        return {f"{name}_level": list(data.item_columns[name].levels) for name in sorted(named)}

    @override
    def declare(self, data: Any, prior: Priors) -> None:
        graph = pm.modelcontext(None)
        for effect in self.effects:
            name, dims = effect.name, effect.dims(data)
            if name in graph.coords:
                raise DataError(f"Columns: {name!r} is the name of a dimension: rename that column")
            n_axes = 1 + len(effect.factors(data)) - len(effect.group)
            if not effect.group:
                pm.ZeroSumNormal(name, sigma=prior.coefficient_prior, n_zerosum_axes=n_axes, dims=dims)
                continue
            sd = pm.HalfNormal(effect.sd, prior.group_sd_prior)
            each = pm.ZeroSumNormal(effect.offset, n_zerosum_axes=n_axes, dims=dims)
            pm.Deterministic(name, sd * each, dims=dims)

    @override
    def log_weights(self, data: Any, p: Parameters, columns: Mapping[str, Any]) -> Any:
        eta = 0.0
        for effect in self.effects:
            factors = effect.factors(data)
            values = p[effect.sd] * p[effect.offset] if effect.group else p[effect.name]
            by_row = values[tuple(columns[name] for name in factors)] if factors else values[None]
            for name in effect.columns:
                if name not in factors:
                    by_row = columns[name][:, None] * by_row
            eta = eta + by_row
        return eta

    @override
    def start(self, data: Any) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for effect in self.effects:
            shape = [len(data.item_columns[name].levels) for name in effect.factors(data)]
            none = np.zeros((*shape, data.n_classes))
            found |= {effect.offset: none, effect.sd: np.array(0.5)} if effect.group else {effect.name: none}
        return found


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
