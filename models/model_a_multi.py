"""Model A in several dimensions: who is right in one is more, or less, often right in another (Rzhetsky et al. 2008).

Generative process.  The same fragments are annotated for several dimensions at once (evidence, focus, polarity).  Each dimension on
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
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import (
    HasIndexArrays,
    HasKnownParameters,
    Known,
    Latent,
    LatentPosterior,
    SeveralLatents,
    View,
)
from bayesanno.modeling.fields import Positive
from bayesanno.modeling.likelihood import generate_in_numpy
from bayesanno.models._correctness.correlation import OneDimension, Together, admissible, check_dimension, maximal_sets
from bayesanno.models._correctness.process import generate_together
from bayesanno.models.model_a import ModelA

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.modeling.data_kinds import Arrays, Patterns
    from bayesanno.modeling.observations import Dimensions, DimensionsDesign
    from bayesanno.modeling.parameters import Parameters, Priors

RENAMED = {"item": "{0}", "response": "{0}_{1}", "annotation": "{0}_{1}"}  # a dim of one dimension among several


@dataclass(frozen=True, kw_only=True)
class ModelAMulti(AnnotationModel, HasIndexArrays, HasKnownParameters, SeveralLatents):
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
    >>> from bayesanno.models import ModelAMulti
    >>> ModelAMulti(correlated=False).frequency
    'empirical'
    """

    name: ClassVar[str] = "model_a_multi"
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
        super().check(data)
        for name, part in data.by_dimension.items():
            check_dimension(self.name, name, part)

    def latents(self, data: MultiAnnotationData) -> tuple[Latent, ...]:
        return tuple(
            Latent(f"true_class_{name}", self.single.states(part), name) for name, part in data.by_dimension.items()
        )

    def coords(self, data: MultiAnnotationData) -> dict[str, list[Any]]:
        pairs = [f"{x}, {y}" for x, y in combinations(data.dimensions, 2)]
        sets = range(len(maximal_sets(data)))
        return data.coords(dimension_pair=pairs, annotator_set=list(map(str, sets)))

    def priors(self, data: MultiAnnotationData, prior: Priors) -> None:
        right = prior.accuracy_prior
        accuracy = pm.Beta("accuracy", right[0], right[1], dims=("annotator", "dimension"))
        if self.frequency == "shared":
            for name, part in data.by_dimension.items():
                concentration = prior.frequency_prior * np.ones(part.n_labels)
                pm.Dirichlet(f"frequency_{name}", concentration, dims=f"response_{name}")
        if self.correlated:
            direction = pm.Normal("direction", dims="dimension_pair")
            together = pm.Data("together", maximal_sets(data), dims=("annotator_set", "annotator"))
            rho, extent = admissible(direction, accuracy, together, len(data.dimensions))
            pm.Deterministic("correlation", rho, dims="dimension_pair")
            pm.Deterministic("extent", extent)

    def known_parameters(self, data: MultiAnnotationData) -> dict[str, Known]:
        parts = {name: self.single.known_parameters(part) for name, part in data.by_dimension.items()}
        return {
            f"frequency_{name}": Known(known["frequency"].value, (f"response_{name}",))
            for name, known in parts.items()
            if known
        }

    def without_data(self) -> ModelAMulti:
        return replace(self, frequency="shared")

    def index_arrays(self, data: MultiAnnotationData, patterns: Patterns) -> Arrays:
        arrays: Arrays = {}
        for name, part in data.by_dimension.items():
            check_dimension(self.name, name, part)
            arrays |= self.single.index_arrays(part, patterns, name)
        return arrays

    def generate(self, design: DimensionsDesign, p: Parameters) -> tuple[TensorVariable, TensorVariable]:
        n_dimensions = len(design.by_dimension)
        rho = p.correlation if self.correlated else pt.zeros(n_dimensions * (n_dimensions - 1) // 2)
        inputs = [p.accuracy, rho]
        for name, part in design.by_dimension.items():
            inputs += [p[f"frequency_{name}"], part.annotator, part.item]
        return generate_in_numpy(
            generate_together,
            [*inputs, pt.zeros(design.n_items)],  # the number of items travels as the length of a vector of nothing
            n_states=n_dimensions * design.n_items,
            n_annotations=sum(part.item.shape[0] for part in design.by_dimension.values()),
        )

    def item_logp(self, answers: Dimensions, p: Parameters) -> TensorVariable:
        return self._together(answers, p).item_logp()

    def latent_posterior(self, answers: Dimensions, p: Parameters) -> LatentPosterior:
        together, probability, views = self._together(answers, p), {}, {}
        for x, (name, part) in enumerate(answers.by_dimension.items()):
            probability[name] = together.probability(x)
            for what, view in self.single.views_of(part, probability[name], p[f"frequency_{name}"]).items():
                dims = tuple(RENAMED[dim].format(dim, name) for dim in view.dims)
                views[f"{what}_{name}"] = View(dims, view.values)
        return LatentPosterior(probability, views)

    def _together(self, answers: Dimensions, p: Parameters) -> Together:
        each = []
        for x, (name, part) in enumerate(answers.by_dimension.items()):
            theta = p.accuracy[:, x]
            each.append(OneDimension(part, theta, self.single.logp_of(part, theta, p[f"frequency_{name}"])))
        pairs = combinations(range(len(each)), 2) if self.correlated else ()
        return Together(each, {pair: p.correlation[number] for number, pair in enumerate(pairs)})

    def start(self, data: MultiAnnotationData) -> dict[str, np.ndarray]:
        alone = {name: self.single.start(part) for name, part in data.by_dimension.items()}
        values = {"accuracy": np.stack([one["accuracy"] for one in alone.values()], axis=1)}  # (annotator, dimension)
        if self.frequency == "shared":
            values |= {f"frequency_{name}": one["frequency"] for name, one in alone.items()}
        if self.correlated:
            values["direction"] = np.zeros(len(alone) * (len(alone) - 1) // 2)
        return values
