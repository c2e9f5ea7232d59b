"""Items that compare two systems: the true winner depends on their strengths.

Davidson's model (1970) of the true outcome of a comparison of a and b, with strengths s, is

    p(a) : p(b) : p(tie)  =  exp(s_a) : exp(s_b) : exp(tie + (s_a + s_b) / 2)

If ties are not a class, this is the model of Bradley and Terry (1952): the log odds of a against b are s_a - s_b.

Symbols, and priors.
    s     strength   (system)   ~ ZeroSumNormal(1): strengths add up to 0; of two random systems, the better one wins
                     .73 of comparisons without ties on average (89% of pairs: .52 to .94)
    tie              ()         ~ Normal(-1, 1), if a tie is a class: for equal systems .16 are ties (89%: .04 to .48)

The truth does not depend on the side of a system. An annotator's answers may: such habits are modelled by `confusion`
(`model_b`), `strategy` (`mace`) and `habit` (`item_difficulty`, `shared_errors`). If ties are possible answers but
never true, declare them as `unsure`.

References.
    R. R. Davidson (1970), On extending the Bradley-Terry model to accommodate ties in paired comparison experiments,
    JASA 65:317-328, doi:10.1080/01621459.1970.10481082.
    R. A. Bradley and M. E. Terry (1952), Rank analysis of incomplete block designs, Biometrika 39:324-345,
    doi:10.2307/2334029.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno.ground.errors import DataError, ModelError
from bayesanno.ground.fields import Positive
from bayesanno.ground.lazy import pm
from bayesanno.ground.wording import enumerated, listed
from bayesanno.modeling.arguments import Parameters, Priors
from bayesanno.modeling.class_prior import Term, column_of
from bayesanno.modeling.findings import Finding, check

STRENGTH, TIE = "strength", "tie"
SYSTEM = "system"  # the dimension of strengths


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
        The column of the items with the weight of each in the likelihood, for comparisons that follow from rankings
        (`read_annotations(ranking=...)` adds the column "weight").

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
    weight: str = ""

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
        if self.weight and not (column_of(data, self.weight, "Pairs").values > 0).all():
            raise DataError(f"Pairs: column {self.weight!r} has a weight that is not above 0: correct it")
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
        first, second = (values[answered] for values in self.columns(data).values())
        shape = (len(systems), len(systems))
        n, group = connected_components(csr_array((np.ones(first.size), (first, second)), shape=shape), False)
        if n > 1:
            named = [enumerated([systems[code] for code in np.flatnonzero(group == k)]) for k in range(n)]
            raise DataError(
                f"Pairs: no answer compares {named[0]} with {'; '.join(named[1:])}: strengths of groups that are not "
                "connected cannot be compared; ask about such a pair, or fit each group by itself"
            )

    @override
    def findings(self, data: Any) -> list[Finding]:
        return check("comparisons-one-answer", np.bincount(data.item, minlength=1).max())

    @override
    def columns(self, data: Any) -> dict[str, np.ndarray]:
        place = {name: code for code, name in enumerate(self.systems(data))}
        sides = {"first": data.item_columns[self.first], "second": data.item_columns[self.second]}
        return {side: np.array([place[level] for level in one.levels])[one.values] for side, one in sides.items()}

    @override
    def coords(self, data: Any) -> dict[str, list[str]]:
        return {SYSTEM: self.systems(data)}

    @override
    def declare(self, data: Any, prior: Priors) -> None:
        pm.ZeroSumNormal(STRENGTH, sigma=prior.strength_prior, dims=SYSTEM)
        if data.n_classes == 3:
            pm.Normal(TIE, prior.tie_prior[0], prior.tie_prior[1])

    @override
    def log_weights(self, data: Any, p: Parameters, columns: Mapping[str, Any]) -> Any:
        names = np.array(data.classes)
        is_first, is_second = names == self.first, names == self.second
        is_tie = ~(is_first | is_second)
        a, b = (p.strength[columns[side]][:, None] for side in ("first", "second"))
        eta = a * (is_first + is_tie / 2) + b * (is_second + is_tie / 2)
        return eta + p.tie * is_tie if is_tie.any() else eta

    @override
    def start(self, data: Any) -> dict[str, np.ndarray]:
        strength = np.zeros(len(self.systems(data)))
        return {STRENGTH: strength} | ({TIE: np.array(self.tie_prior[0])} if data.n_classes == 3 else {})
