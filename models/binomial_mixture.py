"""Item types: each item type has its own rate of positive answers (Beigman Klebanov and Beigman 2010).

Generative process (section 2 of the paper, which does not number equations).  Each item has a type, and each type has a
coin, which annotators flip to answer.  Coins near 0 and 1 belong to easy items, a fair coin to items that these
annotators cannot classify.  Annotators are exchangeable, so the data are counts: x positive answers out of n.

    t_i             ~ Categorical(theta)                                  (1)  the type of item i
    x_i | t_i = t   ~ Binomial(n_i, p_t)                                  (2)
    Pr(x_i)         = C(n_i, x_i) sum_t theta_t p_t^x_i (1 - p_t)^(n_i - x_i)          (3), t summed out
    Pr(t_i = t | x_i)  proportional to  theta_t p_t^x_i (1 - p_t)^(n_i - x_i)          (4), read off after the fit

The likelihood of an item is that of its answers in their order, (3) without C(n, x), so that PSIS-LOO can compare it
with models of named annotators.  The likelihood of a histogram has C(n, x).

Symbols, and priors.
    theta    weight    (item_type)   ~ Dirichlet(weight_prior): 1 by default, all mixtures are equally likely
    p        rate      (item_type)   ascending in every draw; gaps p_1 - 0, p_2 - p_1, ..., 1 - p_k ~ Dirichlet
    t                  the latent; `probability` (item, item_type)
             hard      (item), derived: P(t_i is the hard type), the one whose rate is nearest to one half in the draw
With a = rate_prior[0] for the two outer gaps and b = rate_prior[1] for the inner ones, p_t ~ Beta(a + (t - 1) b,
a + (k - t) b).  By default (1, 1): independent uniform rates, sorted.  Inner concentrations above 1 keep types apart.

Identifiability.  Types ascend, so they cannot be permuted.  k types need at least 2 k - 1 answers per item, on enough
items.  A type that the data do not need follows its prior; chains then mix slowly, and the fit warns.

Use when answers are yes or no, several per item, and the question is which items are hard.  Avoid when annotators
differ much, since (2) attributes this to the items; use `model_b`.

References.
    B. Beigman Klebanov and E. Beigman (2010), Some empirical evidence for annotation noise in a benchmarked dataset,
    NAACL-HLT, pages 438-446, https://aclanthology.org/N10-1067.
    M. A. Espeland and S. L. Handelman (1989), Using latent class models to characterize and assess relative error in
    discrete measurements, Biometrics 45:587-599, doi:10.2307/2531499.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, override

import numpy as np

from bayesanno._core.fields import Positive, Range
from bayesanno._core.lazy import pm, pt
from bayesanno.data.counts import CountData
from bayesanno.modeling import item_types
from bayesanno.modeling.arguments import CountDesign, Counts, Parameters, Priors


@dataclass(frozen=True, kw_only=True)
class BinomialMixture(item_types.ItemTypeModel):
    """Item types, each with its own rate of positive answers.

    Parameters
    ----------
    types : int, default 2
        Number of item types.
    weight_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of the weights.
    rate_prior : tuple of two floats, default (1, 1)
        Concentrations of the Dirichlet prior of the gaps between rates: of the outer gaps, and of the inner ones.

    Examples
    --------
    >>> from bayesanno.models import BinomialMixture
    >>> BinomialMixture(types=3)
    BinomialMixture(types=3, weight_prior=1.0, rate_prior=(1.0, 1.0))
    """

    name: ClassVar[str] = "binomial_mixture"
    data_class: ClassVar[type] = CountData

    types: Annotated[int, Range(0, np.inf)] = 2
    weight_prior: Positive = 1.0
    rate_prior: tuple[Positive, Positive] = (1.0, 1.0)

    def check(self, data: CountData) -> None:
        super().check(data)
        item_types.check_types(self, data)

    @override
    def priors(self, data: CountData, prior: Priors) -> None:
        item_types.declare_weight(prior, self.types)
        item_types.declare_ascending("rate", prior.rate_prior, self.types)

    def generate(self, design: CountDesign, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        item_type = pm.Categorical.dist(p.weight, shape=(design.n_items,))  # (item,), (1)
        return item_type, pm.Binomial.dist(design.trials, p.rate[item_type])  # (2)

    def state_logp(self, counts: Counts, p: Parameters) -> pt.TensorVariable:
        return pt.log(p.weight) + item_types.ordered_answers_logp(counts, p.rate)  # (item, item_type)

    def start(self, data: CountData) -> dict[str, np.ndarray]:
        return item_types.start_weights(self.types) | {"rate": item_types.start_rates(data, self.types)}
