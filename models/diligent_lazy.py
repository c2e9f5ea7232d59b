"""Diligent and lazy annotators: some answers come from the item's type, the others from one coin for all items.

Generative process (section 6 of Beigman Klebanov and Beigman 2010, which does not number equations).  A diligent
annotator flips the coin of the item's type as in `binomial_mixture`; a lazy one flips the same coin for every item.
The types are known from an earlier fit to answers of diligent people.

    t_i             ~ Categorical(theta)                                  (1)  the type of item i
    r_i             ~ Binomial(n_i, xi_D)                                 (2)  how many of its answers are diligent
    x_i | t, r      ~ Binomial(r, p_t) + Binomial(n_i - r, p_L)           (3)
    Pr(x_i | t)     = sum over r = 0..n of (2) times (3)
                    = Binomial(x_i; n_i, xi_D p_t + xi_L p_L),  xi_L = 1 - xi_D          (4)

The paper's sum starts at r = 1, and so omits xi_L^n.  The likelihood omits C(n, x), as in `binomial_mixture`.

Symbols, and priors.
    theta    weight       (item_type)   ~ Dirichlet(weight_strength * weight_mean)
    p        rate         (item_type), of diligent answers   ~ Beta of mean rate_mean, worth rate_strength answers
    xi_D     diligence    (), the share of diligent answers   ~ Beta(diligence_prior), uniform by default
    p_L      lazy_rate    (), the rate of the lazy coin   ~ Beta(lazy_rate_prior), uniform by default
    t                     the latent; `probability` (item, item_type)
             hard         (item), derived: P(t_i is the type whose diligent rate is nearest to one half in the draw)
`DiligentLazy.from_fit` takes the priors of the types from the means and variances of an earlier fit.  With known=True
the means are fixed as the true values, as in the paper.

Identifiability.  The data identify only theta and the mixed rates xi_D p_t + xi_L p_L, which are k numbers for k + 2
unknowns.  Only the prior of `rate` separates `rate` from `diligence`; the fit warns of this.  With known rates of two
or more types, both are identified.  The prior means of the rates must ascend.

Use when types were learnt elsewhere and a new crowd answered the same kind of question.  Avoid when the annotator of
each answer is known; then use `mace`, which estimates each annotator's competence.

References.
    B. Beigman Klebanov and E. Beigman (2010), Some empirical evidence for annotation noise in a benchmarked dataset,
    NAACL-HLT, pages 438-446, https://aclanthology.org/N10-1067.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self, override

import numpy as np

from bayesanno._core.fields import Fraction, Positive
from bayesanno._core.lazy import pm, pt, xr
from bayesanno._core.messages import ModelError
from bayesanno.data.counts import CountData
from bayesanno.modeling.arguments import CountDesign, Counts, FixedParameter, Parameters, Priors
from bayesanno.modeling.findings import Finding, find
from bayesanno.modeling.item_types import ItemTypeModel, ordered_answers_logp


@dataclass(frozen=True, kw_only=True)
class DiligentLazy(ItemTypeModel):
    """Item types, and a crowd in which some answers are lazy.

    Parameters
    ----------
    weight_mean, rate_mean : tuple of floats, one per type, default (0.5, 0.5) and (0.2, 0.8)
        The prior means of the weights (which sum to 1) and of the diligent rates (which ascend).
    weight_strength : float, default 2
        Total concentration of the Dirichlet prior of the weights, as a number of items.
    rate_strength : float, or tuple of one per type, default 20
        Total concentration of the Beta prior of each rate, as a number of answers.
    known : bool, default False
        Whether the weights and rates are fixed at `weight_mean` and `rate_mean`; the strengths then have no effect.
    diligence_prior, lazy_rate_prior : tuple of two floats, default (1, 1)
        The Beta priors of the share of diligent answers and of the rate of the lazy ones.

    Examples
    --------
    Model M of the paper's figure 3, with known types:

    >>> from bayesanno.models import DiligentLazy
    >>> DiligentLazy(weight_mean=(0.42875, 0.19875, 0.3725), rate_mean=(0.1978, 0.5487, 0.8942), known=True).rate_mean
    (0.1978, 0.5487, 0.8942)
    """

    name: ClassVar[str] = "diligent_lazy"
    data_class: ClassVar[type] = CountData

    weight_mean: tuple[Positive, ...] = (0.5, 0.5)
    rate_mean: tuple[Fraction, ...] = (0.2, 0.8)
    weight_strength: Positive = 2.0
    rate_strength: Positive | tuple[Positive, ...] = 20.0
    known: bool = False
    diligence_prior: tuple[Positive, Positive] = (1.0, 1.0)
    lazy_rate_prior: tuple[Positive, Positive] = (1.0, 1.0)

    def __post_init__(self) -> None:
        """Check that there is one number per type, that rates ascend, and that the weights sum to 1."""
        super().__post_init__()
        for field in ("rate_mean", "rate_strength"):
            value = getattr(self, field)
            if isinstance(value, tuple) and len(value) != self.n_types:
                found = f"{field} has {len(value)} numbers, weight_mean has {self.n_types}"
                raise ModelError(f"{self.name}: {found}: give one per type")
        if list(self.rate_mean) != sorted(self.rate_mean):
            raise ModelError(f"{self.name}: rate_mean is {self.rate_mean}: types are numbered by ascending rate")
        if not np.isclose(total := sum(self.weight_mean), 1, rtol=0, atol=1e-6):
            raise ModelError(f"{self.name}: weight_mean is {self.weight_mean}: its sum must be 1, not {total:g}")

    @property
    def n_types(self) -> int:
        return len(self.weight_mean)

    @classmethod
    def from_fit(cls, fit: xr.DataTree, *, known: bool = False) -> Self:
        """Take the types from a fit of `binomial_mixture` to other data.

        Parameters
        ----------
        fit : xarray.DataTree
        known : bool, default False
            Whether to fix the types at the posterior means, as in the paper. Otherwise the posterior becomes the prior.

        Raises
        ------
        FitError
            If the fit is of another model.

        Examples
        --------
        >>> import bayesanno as ba
        >>> ba.models.DiligentLazy.from_fit(ba.load("careful"))  # doctest: +SKIP
        """
        from bayesanno.analysis.item_types import moments_of

        return cls(**moments_of(fit), known=known)

    @override
    def findings(self, data: CountData) -> Iterator[Finding]:
        if self.known and self.n_types > 1:
            return
        worth = " to ".join(dict.fromkeys(f"{x:.0f}" for x in (np.min(self.rate_strength), np.max(self.rate_strength))))
        rests = f"the prior of the rates, worth {worth} answers each" if self.n_types > 1 else "priors"
        yield find("mixed-rates", ["diligence"], rests=rests)

    @override
    def findings_of_posterior(self, posterior: xr.Dataset) -> tuple[()]:
        return ()  # the prior says which types there are

    def fixed_parameters(self, data: CountData) -> dict[str, FixedParameter]:
        if not self.known:
            return super().fixed_parameters(data)
        weight, rate = (FixedParameter(np.array(mean), ("item_type",)) for mean in (self.weight_mean, self.rate_mean))
        return {"weight": weight, "rate": rate}

    def priors(self, data: CountData, prior: Priors) -> None:
        if not self.known:
            if self.n_types > 1:
                pm.Dirichlet("weight", prior.weight_strength * prior.weight_mean, dims="item_type")
            mean, strength = prior.rate_mean, prior.rate_strength
            pm.Beta("rate", strength * mean, strength * (1 - mean), dims="item_type")
        pm.Beta("diligence", prior.diligence_prior[0], prior.diligence_prior[1])
        pm.Beta("lazy_rate", prior.lazy_rate_prior[0], prior.lazy_rate_prior[1])

    def generate(self, design: CountDesign, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        item_type = pm.Categorical.dist(p.weight, shape=(design.n_items,))  # (item,), (1)
        diligent = pm.Binomial.dist(design.trials, p.diligence)  # (item,), answers, (2)
        positive = pm.Binomial.dist(diligent, p.rate[item_type])
        return item_type, positive + pm.Binomial.dist(design.trials - diligent, p.lazy_rate)  # (3)

    def state_logp(self, counts: Counts, p: Parameters) -> pt.TensorVariable:
        mixed = p.diligence * p.rate + (1 - p.diligence) * p.lazy_rate  # (item_type,)
        return pt.log(p.weight) + ordered_answers_logp(counts, mixed)  # (item, item_type), (4)

    def start(self, data: CountData) -> dict[str, np.ndarray]:
        share = (data.successes.sum() + 1) / (data.trials.sum() + 2)
        values = {"weight": np.array(self.weight_mean), "rate": np.array(self.rate_mean)}
        values |= {"diligence": np.array(0.8), "lazy_rate": np.array(share)}
        return {name: value for name, value in values.items() if name not in self.fixed_parameters(data)}
