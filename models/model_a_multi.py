"""Model A in several dimensions: being right in one is correlated with being right in another (Rzhetsky et al. 2009).

Generative process.  The same fragments are annotated for several dimensions at once.  Each dimension on its own follows
`model_a`.  Being right in dimension x is correlated with being right in dimension y, with the same correlation rho_xy
for every annotator l; different annotators are independent.  Equation numbers are those of the supplement.

    u_l^x            = sqrt((1 - theta_l^x) / theta_l^x) if right in x, else -sqrt(theta_l^x / (1 - theta_l^x))   (24)
    Xi               = 1 + sum_(x<y) rho_xy sum_l u_l^x u_l^y
    P(T^1, ..., T^N) = Xi  prod_x P(T^x)                                                              (21-28)

The sum over all 8^N correctness patterns factorises.  With c_l^x = P(T_l^x right | V^x) by the one-dimensional model,

    g_l^x            = (c_l^x - theta_l^x) / sqrt(theta_l^x (1 - theta_l^x))
    P(V^1, ..., V^N) = prod_x P(V^x)  [1 + sum_(x<y) rho_xy sum_l g_l^x g_l^y]
    P(s^x | V)       = P(s^x | V^x)  [1 + sum_(y != x) rho_xy sum_l u_l^x(s) g_l^y
                                        + sum_(y<z, neither x) rho_yz sum_l g_l^y g_l^z]
                       / [1 + sum_(x<y) rho_xy sum_l g_l^x g_l^y]

With all rho = 0 this is exactly N separate models A.

Symbols, and priors: theta and omega as in `model_a`, in every dimension.
    theta    accuracy                (annotator, dimension)
    omega    frequency_<dimension>   (response_<dimension>)
    rho      correlation             (dimension_pair), a deterministic: extent * direction / gamma(direction)
             direction               (dimension_pair)   ~ Normal(0, 1)
             extent                  (), a deterministic: the relative distance of rho from 0 to the boundary, 0 to 1
Xi must not be negative in any state, which confines rho to a region: with three annotators of accuracy 0.8 and two
dimensions, [-0.083, 0.333].  gamma(rho) is the largest value of 1 - Xi; the boundary in direction d is d / gamma(d).
extent is a function of the length of direction, such that extent^n is uniform on (0, 1) for n pairs.  With two
dimensions rho is uniform on either side of 0, with equal probability; with more, zero correlation is not favoured.

Identifiability.  As in `model_a`.  The region is narrow if annotators are good and share many items, so data often show
little about rho except its sign.  Items with one annotation, and missing answers, do not inform it.

Use when the dimensions of a fragment may be hard together.  Avoid for a single dimension; use `model_a`.

References.
    A. Rzhetsky, H. Shatkay and W. J. Wilbur (2009), How to get the most out of your curation effort,
    PLoS Computational Biology 5(5):e1000391, doi:10.1371/journal.pcbi.1000391, supplement, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt
from bayesanno.data.dimensions import MultiAnnotationData, name_own
from bayesanno.modeling.arguments import (
    Derived,
    Dimensions,
    DimensionsDesign,
    Discrete,
    FixedParameter,
    LatentPosterior,
    Parameters,
    Priors,
)
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.kinds.base import Arrays, Patterns
from bayesanno.modeling.likelihood import generate_in_numpy
from bayesanno.models._correctness import correlation as cox
from bayesanno.models._correctness.blocks import pooled_shares
from bayesanno.models._correctness.process import generate_together
from bayesanno.models.model_a import ModelA


@dataclass(frozen=True, kw_only=True)
class ModelAMulti(AnnotationModel):
    """Model A for several dimensions with correlated correctness.

    Parameters
    ----------
    accuracy_prior : tuple of two floats, default (2, 1)
        The Beta prior of the accuracy.
    frequency : {"empirical", "shared"}, default "empirical"
        Label frequencies of each dimension: pooled from the data, or learnt.
    frequency_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of learnt frequencies.
    correlated : bool, default True
        Whether dimensions are correlated; False gives separate models A.

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
        own = ("accuracy_prior", "frequency", "frequency_prior")
        return ModelA.from_fields({name: getattr(self, name) for name in own})

    def check(self, data: MultiAnnotationData) -> None:
        super().check(data)
        for name, part in data.by_dimension.items():
            cox.check_dimension(self, name, part)

    def latents(self, data: MultiAnnotationData) -> tuple[Discrete, ...]:
        states = {name: self.single.states(part) for name, part in data.by_dimension.items()}
        return tuple(Discrete("true_class", of, name) for name, of in states.items())

    def coords(self, data: MultiAnnotationData) -> dict[str, list[Any]]:
        return data.coords(dimension_pair=[", ".join(pair) for pair in combinations(data.dimensions, 2)])

    def priors(self, data: MultiAnnotationData, prior: Priors) -> None:
        right = prior.accuracy_prior
        accuracy = pm.Beta("accuracy", right[0], right[1], dims=("annotator", "dimension"))
        if self.frequency == "shared":
            for x, part in data.by_dimension.items():
                of_each = prior.frequency_prior * np.ones(part.n_labels)
                pm.Dirichlet(name_own("frequency", x), of_each, dims=name_own("response", x))
        if self.correlated:
            direction = pm.Normal("direction", dims="dimension_pair")
            together = pm.Data("together", cox.maximal_sets(data), dims=("annotator_set", "annotator"))
            rho, extent = cox.admissible(direction, accuracy, together, len(data.dimensions))
            pm.Deterministic("correlation", rho, dims="dimension_pair")
            pm.Deterministic("extent", extent)

    def fixed_parameters(self, data: MultiAnnotationData) -> dict[str, FixedParameter]:
        if self.frequency == "shared":
            return {}
        known = {
            x: FixedParameter(pooled_shares(part), (name_own("response", x),)) for x, part in data.by_dimension.items()
        }
        return {name_own("frequency", x): one for x, one in known.items()}

    def without_data(self) -> ModelAMulti:
        return replace(self, frequency="shared")

    def index_arrays(self, data: MultiAnnotationData, patterns: Patterns) -> Arrays:
        self.check(data)
        parts = data.by_dimension.items()
        each = (self.single.index_arrays(part, patterns, name) for name, part in parts)
        return {key: array for arrays in each for key, array in arrays.items()}

    def generate(self, design: DimensionsDesign, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        n_dimensions, parts = len(design.by_dimension), design.by_dimension.items()
        rho = p.correlation if self.correlated else pt.zeros(n_dimensions * (n_dimensions - 1) // 2)
        each = [array for name, part in parts for array in (p[name_own("frequency", name)], part.annotator, part.item)]
        inputs = [p.accuracy, rho, *each, pt.zeros(design.n_items)]  # the last one only has the number of items
        n = sum(part.item.shape[0] for _, part in parts)
        truth = [p[name_own("frequency", name)] for name in design.by_dimension]
        sizes = {"n_states": n_dimensions * design.n_items, "n_annotations": n}
        return generate_in_numpy(generate_together, inputs, states_from=truth, **sizes)

    def item_logp(self, answers: Dimensions, p: Parameters) -> pt.TensorVariable:
        return cox.put_together(self.single, answers, p).item_logp()

    def latent_posterior(self, answers: Dimensions, p: Parameters) -> LatentPosterior:
        together = cox.put_together(self.single, answers, p)
        log_probability: dict[str, pt.TensorVariable] = {}
        derived: dict[str, dict[str, Derived]] = {}
        for x, (name, part) in enumerate(answers.by_dimension.items()):
            log_probability[name] = together.log_probability(x)
            derived[name] = self.single.derived(part, pt.exp(log_probability[name]), cox.of_dimension(name, x, p))
        return LatentPosterior(together.item_logp(), log_probability, derived)

    def start(self, data: MultiAnnotationData) -> dict[str, np.ndarray]:
        alone = {name: self.single.start(part) for name, part in data.by_dimension.items()}
        values = {"accuracy": np.stack([one["accuracy"] for one in alone.values()], axis=1)}  # (annotator, dimension)
        if self.frequency == "shared":
            values |= {name_own("frequency", name): one["frequency"] for name, one in alone.items()}
        return values | ({"direction": np.zeros(len(alone) * (len(alone) - 1) // 2)} if self.correlated else {})
