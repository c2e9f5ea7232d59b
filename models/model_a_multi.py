"""Model A in several dimensions: who is right in one is more, or less, often right in another (Rzhetsky et al. 2008).

Story.  The same fragments are annotated for several dimensions at once (evidence, focus, polarity).  Each dimension on
its own is `model_a`.  Whether annotator l is right in dimension x and whether l is right in dimension y are correlated,
with the same correlation rho_xy for every annotator; different annotators are independent, as before.

Model.  Equation numbers are those of the supplement to Rzhetsky et al. (2008); x, y are dimensions, l is an annotator.

    u_l^x            = sqrt((1 - theta_l^x) / theta_l^x) if l is right in x,
                       -sqrt(theta_l^x / (1 - theta_l^x)) if not                                      (24)
    Xi               = 1 + sum_(x<y) rho_xy sum_l u_l^x u_l^y
    P(T^1, ..., T^N) = Xi  prod_x P(T^x)                                                              (21-28)

The sum over all 8^N correctness patterns factorises.  With c_l^x = P(T_l^x right | V^x) by the one-dimensional model,

    g_l^x            = (c_l^x - theta_l^x) / sqrt(theta_l^x (1 - theta_l^x))
    P(V^1, ..., V^N) = prod_x P(V^x)  [1 + sum_(x<y) rho_xy sum_l g_l^x g_l^y]
    P(s^x | V)       = P(s^x | V^x)  [1 + sum_(y != x) rho_xy sum_l u_l^x(s) g_l^y
                                        + sum_(y<z, neither x) rho_yz sum_l g_l^y g_l^z]
                       / [1 + sum_(x<y) rho_xy sum_l g_l^x g_l^y]

linear in N but for the pairs.  With all rho = 0 it is N separate models A, exactly.  Annotations of a dimension that an
annotator left out say nothing about that annotator's rightness there.

Symbols.
    theta    accuracy                   (annotator, dimension)
    omega    frequency_<dimension>      (response_<dimension>)
    rho      correlation                (dimension_pair), a deterministic
             direction                  (dimension_pair), from which rho is made
             extent                     how far rho is on the way to the wall, 0 to 1

Priors and what they imply.
    accuracy, frequency: as in `model_a`, in every dimension.
    Xi must not be negative in any state, which confines rho to a region that depends on theta and on which annotators
    share items: with three annotators of accuracy 0.8 and two dimensions, [-0.083, 0.333].  gamma(rho) is the largest
    value of 1 - Xi; rho is admissible exactly where gamma(rho) <= 1, and the wall in direction d is at d / gamma(d).
    direction ~ Normal(0, I); rho = extent * direction / gamma(direction), with extent a function of the length of
    direction so that extent^n is uniform on (0, 1) for n pairs.  So the prior is proper and normalised whatever theta,
    and rho never leaves the region; with two dimensions rho is uniform on either side of 0, the sides equally likely.
    It is not flat on the region if there are more (directions are uniform before they are stretched to the wall), and
    it favours no correlation no more than others: the prior median of extent is 0.79 for three pairs.

Identifiability.  As in `model_a`; items with one annotation say nothing about rho.  The region is narrow where
annotators are good and share many items, so that data often say little about rho but its sign.

Use when the dimensions of a fragment may be hard together.  Avoid for one dimension: that is `model_a`.

References.
    A. Rzhetsky, H. Shatkay and W. J. Wilbur (2008), How to get the most out of your curation effort,
    PLoS Computational Biology 5(5):e1000391, doi:10.1371/journal.pcbi.1000391, supplement, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.base import AnnotationModel, Positive, hyper, require_data
from bayesanno.modeling.likelihood import observe, tell
from bayesanno.models._correctness.agreement_patterns import NONE_SAID, pattern_arrays
from bayesanno.models._correctness.correlated_story import check_dimension, maximal_sets, tell_together
from bayesanno.models._correctness.correlation import OneDimension, admissible
from bayesanno.models.model_a import ModelA

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.modeling.data_kinds import Patterns
    from bayesanno.modeling.observations import Dimensions, DimensionsDesign

RENAMED = {"item": "{0}", "response": "{0}_{1}", "annotation": "{0}_{1}"}  # a dim of one dimension among several


@dataclass(frozen=True, kw_only=True)
class ModelAMulti(AnnotationModel):
    """Model A for several dimensions whose correctness is correlated.

    Parameters
    ----------
    accuracy_prior : tuple of two floats, default (2, 1)
        The Beta prior of the accuracy.
    frequency : {"empirical", "shared"}, default "empirical"
        Label frequencies of each dimension: pooled from the data, or learnt.
    frequency_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of learnt frequencies.
    correlated : bool, default True
        Whether dimensions are correlated; False is as many separate models A.

    Examples
    --------
    >>> from bayesanno.models.model_a_multi import ModelAMulti
    >>> ModelAMulti(correlated=False).frequency
    'empirical'
    """

    name: ClassVar[str] = "model_a_multi"
    state_dim: ClassVar[str] = "true_class"
    competence: ClassVar[str | None] = "accuracy"
    data_class: ClassVar[type] = MultiAnnotationData

    accuracy_prior: tuple[Positive, Positive] = (2.0, 1.0)
    frequency: Literal["empirical", "shared"] = "empirical"
    frequency_prior: Positive = 1.0
    correlated: bool = True

    @property
    def single(self) -> ModelA:
        """The model of each dimension on its own."""
        return ModelA(
            accuracy_prior=self.accuracy_prior, frequency=self.frequency, frequency_prior=self.frequency_prior
        )

    def check(self, data: MultiAnnotationData) -> None:
        require_data(self, data)
        for name, part in data.by_dimension.items():
            check_dimension(self.name, name, part)

    def build(self, data: MultiAnnotationData) -> pm.Model:
        self.check(data)
        pairs = [f"{x}, {y}" for x, y in combinations(data.dimensions, 2)]
        sets = maximal_sets(data)
        coords = data.coords(dimension_pair=pairs, annotator_set=[str(number) for number in range(len(sets))])
        with pm.Model(coords=coords) as model:
            parameters = {
                name: hyper(name, value, dims=f"response_{name.removeprefix('frequency_')}")
                for name, value in self.fixed(data).items()
            }
            right = hyper("accuracy_prior", self.accuracy_prior)
            parameters["accuracy"] = pm.Beta("accuracy", right[0], right[1], dims=("annotator", "dimension"))
            if self.frequency == "shared":
                concentration = hyper("frequency_prior", self.frequency_prior)
                for name, part in data.by_dimension.items():
                    parameters[f"frequency_{name}"] = pm.Dirichlet(
                        f"frequency_{name}", concentration * np.ones(part.n_labels), dims=f"response_{name}"
                    )
            if self.correlated:
                direction = pm.Normal("direction", dims="dimension_pair")
                together = hyper("together", sets, dims=("annotator_set", "annotator"))
                rho, extent = admissible(direction, parameters["accuracy"], together, len(data.dimensions))
                parameters["correlation"] = pm.Deterministic("correlation", rho, dims="dimension_pair")
                pm.Deterministic("extent", extent)
            observe(self, data, **parameters)
        return model

    def fixed(self, data: MultiAnnotationData) -> dict[str, np.ndarray]:
        parts = {name: self.single.fixed(part) for name, part in data.by_dimension.items()}
        return {f"frequency_{name}": fixed["frequency"] for name, fixed in parts.items() if fixed}

    def storyteller(self) -> ModelAMulti:
        return replace(self, frequency="shared")

    def state_dims(self, data: MultiAnnotationData) -> dict[str, tuple[str, ...]]:
        return {f"true_class_{name}": (*part.labels, NONE_SAID) for name, part in data.by_dimension.items()}

    def view_coords(self, data: MultiAnnotationData) -> dict[str, tuple[str, ...]]:
        return {f"response_{name}": part.labels for name, part in data.by_dimension.items()}

    def parameter_names(self, data: MultiAnnotationData) -> tuple[str, ...]:
        return ("accuracy", "correlation", *(f"frequency_{name}" for name in data.dimensions))

    def index_arrays(self, data: MultiAnnotationData, patterns: Patterns) -> dict[str, np.ndarray]:
        return {
            f"{what}__{name}": array
            for name, part in data.by_dimension.items()
            for what, array in pattern_arrays(part, patterns.layouts[name], by_annotator=False).items()
        }

    def item_logp(self, answers: Dimensions, **parameters: TensorVariable) -> TensorVariable:
        each = self._each_alone(answers, parameters)
        surplus = self._surplus(each, parameters)  # Xi - 1, given what was said
        alone = pt.add(*(one.total_and_probability[0] for one in each))
        return alone + pt.log1p(sum(surplus.values(), pt.zeros(answers.n_items)))  # (item,)

    def readings(
        self, answers: Dimensions, **parameters: TensorVariable
    ) -> dict[str, tuple[tuple[str, ...], TensorVariable]]:
        found: dict[str, tuple[tuple[str, ...], TensorVariable]] = {}
        names, each = list(answers.by_dimension), self._each_alone(answers, parameters)
        surplus = self._surplus(each, parameters)
        total = 1 + sum(surplus.values(), pt.zeros(answers.n_items))  # (item,)
        for x, one in enumerate(each):
            others = 1 + sum((s for pair, s in surplus.items() if x not in pair), pt.zeros(answers.n_items))
            pull = pt.zeros((answers.n_items, answers.n_annotators))  # (item, annotator), of the other dimensions
            for pair, rho in self._correlations(len(each), parameters):
                if x in pair:
                    pull = pull + rho * each[pair[1 - pair.index(x)]].g
            moved = others[:, None] + one.sum_of_u(pull)  # (item, state)
            probability = one.total_and_probability[1] * moved / total[:, None]
            frequency = parameters[f"frequency_{names[x]}"]
            views = self.single.views(one.answers, probability, frequency=frequency)
            found[f"probability_{names[x]}"] = (("item", f"true_class_{names[x]}"), probability)
            for what, (dims, values) in views.items():
                found[f"{what}_{names[x]}"] = (tuple(RENAMED.get(d, "{}").format(d, names[x]) for d in dims), values)
        return found

    def _each_alone(self, answers: Dimensions, parameters: dict[str, TensorVariable]) -> list[OneDimension]:
        return [
            OneDimension(
                answers=part,
                theta=parameters["accuracy"][:, x],
                logp=self.single.state_logp(part, parameters["accuracy"][:, x], parameters[f"frequency_{name}"]),
            )
            for x, (name, part) in enumerate(answers.by_dimension.items())
        ]

    def _correlations(
        self, n_dimensions: int, parameters: dict[str, TensorVariable]
    ) -> list[tuple[tuple[int, int], TensorVariable]]:
        if not self.correlated:
            return []
        return [(pair, parameters["correlation"][p]) for p, pair in enumerate(combinations(range(n_dimensions), 2))]

    def _surplus(
        self, each: list[OneDimension], parameters: dict[str, TensorVariable]
    ) -> dict[tuple[int, int], TensorVariable]:
        """Return rho_xy sum_l g_l^x g_l^y for each pair of dimensions, (item,) each."""
        g = [one.g for one in each]
        return {(x, y): rho * (g[x] * g[y]).sum(axis=1) for (x, y), rho in self._correlations(len(g), parameters)}

    def generate(self, design: DimensionsDesign, **parameters: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
        names = list(design.by_dimension)
        n_pairs = len(names) * (len(names) - 1) // 2
        inputs = [parameters["accuracy"], parameters.get("correlation", pt.zeros(n_pairs))]
        for name, part in design.by_dimension.items():
            inputs += [parameters[f"frequency_{name}"], part.annotator, part.item]
        n_annotations = sum(part.item.shape[0] for part in design.by_dimension.values())
        # the number of items travels as the length of a vector of nothing
        return tell(
            tell_together,
            [*inputs, pt.zeros(design.n_items)],
            n_states=len(names) * design.n_items,
            n_annotations=n_annotations,
        )

    def start(self, data: MultiAnnotationData) -> dict[str, np.ndarray]:
        alone = {name: self.single.start(part) for name, part in data.by_dimension.items()}
        values = {"accuracy": np.stack([one["accuracy"] for one in alone.values()], axis=1)}  # (annotator, dimension)
        if self.frequency == "shared":
            values |= {f"frequency_{name}": one["frequency"] for name, one in alone.items()}
        if self.correlated:
            values["direction"] = np.zeros(len(alone) * (len(alone) - 1) // 2)
        return values
