"""Two normal distributions: counts under two item types only, with annotators who differ.

Generative process (section 5 of Beigman Klebanov and Beigman 2010, which does not number equations).  There are two
item types, but every annotator has their own coins.  By the central limit theorem, the paper argues, the number of
positive answers to items of one type is then nearly normal.  If this model fits, differences between annotators explain
what `binomial_mixture` explains by item types.

    t_i             ~ Categorical(theta)                                  (1)  the type of item i
    z_i | t_i = t   ~ Normal(mu_t, sigma_t)                               (2)
    x_i             = z_i rounded, and clipped to 0 and n                 (3)
    Pr(x | t)       = Phi((x + 1/2 - mu_t) / sigma_t) - Phi((x - 1/2 - mu_t) / sigma_t)          (4)
    Pr(x)           = sum_t theta_t Pr(x | t)                             (5), t summed out

In (4) the tails count for 0 and n; the paper's curve, the density at whole numbers, omits them.  The likelihood of an
item is (5) divided by C(n, x), as if all orders of its answers were equally likely, on the scale of `binomial_mixture`.

Symbols, and priors.
    theta    weight    (item_type)   ~ Dirichlet(weight_prior): 1 by default, all mixtures are equally likely
    mu       mean      (item_type)   in answers, ascending; mean / n as the rates of `binomial_mixture`, by mean_prior:
                       by default (1, 1), independent uniform means, sorted
    sigma    sd        (item_type)   in answers, a standard deviation (footnote 6); sd / n ~ HalfNormal(sd_prior), 0.25
                       by default
    t                  the latent; `probability` (item, item_type)
             hard      (item), derived: P(t_i is the type whose mean is nearest to n/2 in the draw)

Identifiability.  Types ascend, so they cannot be permuted.  A component narrower than one answer looks like a spike,
and its sd then follows the prior.  With n below about 5, two components cannot be distinguished.

Use to check whether item types are needed at all: fit both models, and compare them by PSIS-LOO.  Avoid for anything
else: the normal distribution is a caricature, and counts do not show how annotators differ; `model_b` does.

References.
    B. Beigman Klebanov and E. Beigman (2010), Some empirical evidence for annotation noise in a benchmarked dataset,
    NAACL-HLT, pages 438-446, https://aclanthology.org/N10-1067.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from bayesanno._core.fields import Positive, Range
from bayesanno._core.lazy import pm, pt
from bayesanno._core.messages import DataError
from bayesanno.data.counts import CountData
from bayesanno.modeling import item_types
from bayesanno.modeling.arguments import CountDesign, Counts, Parameters, Priors
from bayesanno.modeling.ops.intervals import log_between


@dataclass(frozen=True, kw_only=True)
class GaussianMixture(item_types.ItemTypeModel):
    """Counts as a mixture of normal distributions.

    Parameters
    ----------
    types : int, default 2
        Number of item types.
    weight_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of the weights.
    mean_prior : tuple of two floats, default (1, 1)
        Concentrations of the Dirichlet prior of the gaps between means: of the outer gaps, and of the inner ones.
    sd_prior : float, default 0.25
        Scale of the half-normal prior of the standard deviations, as a share of n.

    Examples
    --------
    >>> from bayesanno.models import GaussianMixture
    >>> GaussianMixture(sd_prior=0.1).types
    2
    """

    name: ClassVar[str] = "gaussian_mixture"
    data_class: ClassVar[type] = CountData

    types: Annotated[int, Range(0, np.inf)] = 2
    weight_prior: Positive = 1.0
    mean_prior: tuple[Positive, Positive] = (1.0, 1.0)
    sd_prior: Positive = 0.25

    def check(self, data: CountData) -> None:
        super().check(data)
        n_answers_of(data)
        item_types.check_types(self, data)

    def priors(self, data: CountData, prior: Priors) -> None:
        n_answers = n_answers_of(data)
        item_types.declare_weight(prior, self.types)
        item_types.declare_ascending("mean", prior.mean_prior, self.types, top=n_answers)
        pm.HalfNormal("sd", np.full(self.types, n_answers) * prior.sd_prior, dims="item_type")

    def generate(self, design: CountDesign, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        item_type = pm.Categorical.dist(p.weight, shape=(design.n_items,))  # (item,), (1)
        z = pm.Normal.dist(p.mean[item_type], p.sd[item_type])  # (2)
        return item_type, pt.clip(pt.round(z), 0, design.trials).astype("int64")  # (3)

    def state_logp(self, counts: Counts, p: Parameters) -> pt.TensorVariable:
        x, n = counts.successes[:, None], counts.trials[:, None]  # (item, 1)
        low, high = (x - 0.5 - p.mean) / p.sd, (x + 0.5 - p.mean) / p.sd  # (item, item_type)
        log_hump = log_between(low, high, "normal", is_first=pt.eq(x, 0), is_last=pt.eq(x, n))  # (4)
        log_orders = pt.gammaln(n + 1.0) - pt.gammaln(x + 1.0) - pt.gammaln(n - x + 1.0)  # log C(n, x)
        return pt.log(p.weight) + log_hump - log_orders

    def rate_of(self, parameters: Mapping[str, Any], data: Any) -> Any:
        return parameters["mean"] / data.trials[0]

    def start(self, data: CountData) -> dict[str, np.ndarray]:
        n_answers = n_answers_of(data)
        mean, sd = n_answers * item_types.start_rates(data, self.types), n_answers * self.sd_prior / 2
        return item_types.start_weights(self.types) | {"mean": mean, "sd": np.full(self.types, sd)}


def n_answers_of(data: CountData) -> int:
    """Return n, which must be the same for all items."""
    numbers = np.unique(data.trials)
    if numbers.size > 1:
        few, many = (data.items[int(find(data.trials))] for find in (np.argmin, np.argmax))
        raise DataError(
            f"gaussian_mixture needs the same number of answers to every item, but item {few!r} has {numbers[0]} and "
            f"item {many!r} has {numbers[-1]}: leave items out, or fit binomial_mixture"
        )
    return int(numbers[0])
