"""Items that compare two systems: the true winner depends on their strengths.

Davidson's model (1970) of the true outcome of a comparison of a and b, with strengths s, is

    p(a) : p(b) : p(tie)  =  exp(s_a) : exp(s_b) : exp(tie + (s_a + s_b) / 2)

If ties are not a class, this is the model of Bradley and Terry (1952): the log odds of a against b are s_a - s_b.

Symbols, and priors.
    s     strength   (system)   ~ ZeroSumNormal(1): strengths add up to 0; of two random systems, the better one wins
                     .73 of comparisons without ties on average (89% of pairs: .52 to .94)
    tie              ()         ~ Normal(-1, 1), if a tie is a class: for equal systems .16 are ties (89%: .04 to .48)
With `by`, the strengths in a subset of the items, such as a category, are s + sd_by z:
    sd_by  strength_sd      ()                  ~ HalfNormal(.5)
    z      strength_offset  (subset, system)    ~ ZeroSumNormal(1) over systems

The truth does not depend on the side of a system. An annotator's answers may: such habits are modelled by `confusion`
(`model_b`), `strategy` (`mace`) and `habit` (`item_difficulty`, `shared_errors`). They are about the sides as they were
shown, also where annotators saw the two orders of an item. If ties are possible answers but never true, declare them as
`unsure`.

References.
    R. R. Davidson (1970), On extending the Bradley-Terry model to accommodate ties in paired comparison experiments,
    JASA 65:317-328, doi:10.1080/01621459.1970.10481082.
    R. A. Bradley and M. E. Terry (1952), Rank analysis of incomplete block designs, Biometrika 39:324-345,
    doi:10.2307/2334029.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm
from bayesanno._core.messages import DataError, ModelError, enumerated, listed
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.columns import take_columns
from bayesanno.data.described import require_kind
from bayesanno.data.frame import WEIGHT
from bayesanno.modeling.arguments import Parameters, Priors
from bayesanno.modeling.class_prior import Term, column_of
from bayesanno.modeling.findings import Finding, check, find

STRENGTH, TIE = "strength", "tie"
STRENGTH_SD, STRENGTH_OFFSET, STRENGTH_BY = "strength_sd", "strength_offset", "strength_by"  # in subsets of the items
SIDES = ("first", "second")
SYSTEM, SUBSET = "system", "subset"  # dimensions of strengths


def take_as_true(data: AnnotationData) -> AnnotationData:
    """Return comparisons of judges who make no errors: the outcome of each answer is known.

    A fit of these data by a model with `Pairs(...)` is the model of Davidson, or of Bradley and Terry, alone. Where an
    item has two answers, each answer becomes an item of its own.

    Parameters
    ----------
    data : AnnotationData
        Comparisons, as `read_annotations(pairs=...)` reads them. Unsure answers are left out.

    Raises
    ------
    DataError
        If these are other data.

    Examples
    --------
    >>> import bayesanno as ba
    >>> said = [("q1", "ada", "left"), ("q1", "bo", "right"), ("q2", "ada", "right")]
    >>> pairs = {"left": ["llama", "opt"], "right": ["opt", "bloom"]}
    >>> data = ba.modeling.take_as_true(ba.AnnotationData.from_records(said, item_columns=pairs))
    >>> data.controls
    {'q1, answer 1': 'left', 'q1, answer 2': 'right', 'q2, answer 3': 'right'}
    """
    require_kind(data, AnnotationData, "take_as_true")
    sure = data.without_unsure()
    if np.unique(sure.item).size == sure.n_annotations:
        said = zip(sure.item.tolist(), sure.label.tolist(), strict=True)
        return replace(sure, controls={sure.items[item]: sure.labels[code] for item, code in said})
    items = tuple(f"{sure.items[item]}, answer {number}" for number, item in enumerate(sure.item, 1))
    known = {item: sure.labels[code] for item, code in zip(items, sure.label, strict=True)}
    columns = take_columns(sure.item_columns, sure.item)
    return replace(
        sure, items=items, item=np.arange(len(items)), item_columns=columns, gold={}, controls=known, swapped=()
    )


def judges_are_right(data: AnnotationData) -> bool:
    """Whether each answer that is not unsure is the known outcome of its comparison, as after `take_as_true`."""
    sure = data.without_unsure()
    return bool((sure.control_codes[sure.item] == sure.label).all())


@dataclass(frozen=True, kw_only=True)
class Pairs(Term):
    """The two systems that an item compares.

    Parameters
    ----------
    first, second : str, default "first" and "second"
        The columns of the items with the names of the two systems. Two of the labels have the same names, for the
        better side. A third label, if there is one, is a tie.
    strength_prior : float, default 1
        Standard deviation of strengths, before their mean is subtracted.
    tie_prior : tuple of two floats, default (-1, 1)
        Mean and standard deviation of the log odds of a tie against either side, between equal systems.
    weight : str, optional
        The column of the items with the weight of each in the likelihood; "" for none. By default the column "weight",
        where there is one: `read_annotations(ranking=...)` adds it to comparisons that follow from rankings.
    judges_err : bool, default False
        Whether errors of judges are learnt where no comparison has two answers. By default winners are then taken as
        true (`take_as_true`), unless there are controls. Errors cannot be told from close systems there: strengths
        would be too far apart, by a factor of 1.6 to 1.8 in simulations.
    by : str, optional
        The column of the items with subsets, such as categories, in which strengths may differ: `strength_by` (subset,
        system) has them, partially pooled.

    Examples
    --------
    >>> import bayesanno as ba
    >>> said = [("q1", "ada", "left"), ("q1", "bo", "tie"), ("q2", "ada", "right")]
    >>> pairs = {"left": ["llama", "opt"], "right": ["opt", "bloom"]}
    >>> data = ba.AnnotationData.from_records(said, item_columns=pairs)
    >>> model = ba.models.ModelB(class_prior=ba.Pairs(first="left", second="right"))
    >>> model.build(data)["strength"].eval().shape
    (3,)
    """

    name: ClassVar[str] = "Pairs"
    has_shares: ClassVar[bool] = True

    first: str = "first"
    second: str = "second"
    strength_prior: Positive = 1.0
    tie_prior: tuple[float, Positive] = (-1.0, 1.0)
    weight: str | None = None
    judges_err: bool = False
    by: str = ""

    def __post_init__(self) -> None:
        """Check that there are two columns."""
        super().__post_init__()
        if self.first == self.second:
            raise ModelError(f"Pairs: the first and the second system are both in {self.first!r}: name two columns")

    def systems(self, data: Any) -> list[str]:
        """Return the names of the systems, sorted."""
        return sorted({*data.item_columns[self.first].levels, *data.item_columns[self.second].levels})

    @override
    def check(self, data: Any) -> None:
        sides = [column_of(data, name, "Pairs") for name in (self.first, self.second)]
        for name, side in zip((self.first, self.second), sides, strict=True):
            if not side.levels:
                raise DataError(f"Pairs: column {name!r} has numbers: give the systems' names as text")
            if name not in data.classes:
                raise DataError(
                    f"Pairs: {name!r} is no label that an item can truly have, and these are {listed(data.classes)}: "
                    "labels are the names of the two columns of systems, and of a tie"
                )
        weights = self.weights(data)
        if weights is not None and not (weights > 0).all():
            raise DataError(f"Pairs: column {self.weight or WEIGHT!r} has a weight that is not above 0: correct it")
        if weights is not None and self.weight is None and (weights > 1).any():
            raise DataError(
                f"Pairs: column {WEIGHT!r} has a weight above 1, which no comparison of a ranking has: rename it"
            )
        if self.by and len(column_of(data, self.by, "Pairs").levels) < 2:
            raise DataError(f"Pairs: column {self.by!r} names fewer than two subsets: leave out by")
        if data.n_classes > 3:
            more = [label for label in data.classes if label not in (self.first, self.second)]
            raise DataError(
                f"Pairs: beside {self.first!r} and {self.second!r} there are {listed(more)}: one label can be a tie; "
                "join the others to it, or declare them as unsure"
            )
        for item, a, b in zip(data.items, *(side.names for side in sides), strict=True):
            if a == b:
                raise DataError(f"Pairs: item {item!r} compares {a!r} with itself: leave it out")

    @override
    def check_design(self, data: Any) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        systems, answered = self.systems(data), np.unique(data.item)
        first, second = (self.columns(data)[side][answered] for side in SIDES)
        shape = (len(systems), len(systems))
        n, group = connected_components(csr_array((np.ones(first.size), (first, second)), shape=shape), False)
        if n > 1:
            named = [enumerated([systems[code] for code in np.flatnonzero(group == k)]) for k in range(n)]
            raise DataError(
                f"Pairs: no answer compares {named[0]} with {'; '.join(named[1:])}: strengths of groups that are not "
                "connected cannot be compared; ask about such a pair, or fit each group by itself"
            )

    @override
    def take(self, data: Any) -> Any:
        alone = np.bincount(data.without_unsure().item).max() < 2
        return take_as_true(data) if alone and not (self.judges_err or data.controls) else data

    @override
    def weights(self, data: Any) -> np.ndarray | None:
        name = (WEIGHT if WEIGHT in data.item_columns else "") if self.weight is None else self.weight
        return column_of(data, name, "Pairs").values if name else None

    @override
    def findings(self, data: Any) -> list[Finding]:
        if judges_are_right(data):
            return [find("winners-true")]
        unknown = data.item[data.control_codes[data.item] < 0]
        return check("comparisons-one-answer", np.bincount(unknown).max()) if unknown.size else []

    @override
    def columns(self, data: Any) -> dict[str, np.ndarray]:
        place = {name: code for code, name in enumerate(self.systems(data))}
        sides = {"first": data.item_columns[self.first], "second": data.item_columns[self.second]}
        found = {side: np.array([place[level] for level in one.levels])[one.values] for side, one in sides.items()}
        return found | ({SUBSET: data.item_columns[self.by].values} if self.by else {})

    @override
    def coords(self, data: Any) -> dict[str, list[str]]:
        subsets = {SUBSET: list(data.item_columns[self.by].levels)} if self.by else {}
        return {SYSTEM: self.systems(data)} | subsets

    @override
    def declare(self, data: Any, prior: Priors) -> None:
        strength = pm.ZeroSumNormal(STRENGTH, sigma=prior.strength_prior, dims=SYSTEM)
        if self.by:
            sd = pm.HalfNormal(STRENGTH_SD, 0.5)
            offset = pm.ZeroSumNormal(STRENGTH_OFFSET, n_zerosum_axes=1, dims=(SUBSET, SYSTEM))
            pm.Deterministic(STRENGTH_BY, strength + sd * offset, dims=(SUBSET, SYSTEM))
        if data.n_classes == 3:
            pm.Normal(TIE, prior.tie_prior[0], prior.tie_prior[1])

    @override
    def log_weights(self, data: Any, p: Parameters, columns: Mapping[str, Any]) -> Any:
        names = np.array(data.classes)
        is_first, is_second = names == self.first, names == self.second
        is_tie = ~(is_first | is_second)
        a, b = (p.strength[columns[side]][:, None] for side in SIDES)
        if self.by:
            moved = p[STRENGTH_SD] * p[STRENGTH_OFFSET]
            a, b = (of + moved[columns[SUBSET], columns[s]][:, None] for of, s in ((a, "first"), (b, "second")))
        eta = a * (is_first + is_tie / 2) + b * (is_second + is_tie / 2)
        return eta + p.tie * is_tie if is_tie.any() else eta

    @override
    def start(self, data: Any) -> dict[str, np.ndarray]:
        strength = np.zeros(len(self.systems(data)))
        found = {STRENGTH: strength}
        if self.by:
            n_subsets = len(data.item_columns[self.by].levels)
            found |= {STRENGTH_SD: np.array(0.2), STRENGTH_OFFSET: np.zeros((n_subsets, strength.size))}
        return found | ({TIE: np.array(self.tie_prior[0])} if data.n_classes == 3 else {})
