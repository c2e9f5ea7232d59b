"""Diligent and lazy annotators, one by one: some read the items, others flip the same coin for all of them.

Generative process.  Items have types as in `binomial_mixture`.  Annotator j answers either diligently, from the coin of
the item's type, or lazily, from a coin that is the same for every item.  In Beigman Klebanov and Beigman (2010, section
6; `diligent_lazy`) all answers are equally likely to be lazy.  Here, in our extension, each annotator has a diligence.

    t_i              ~ Categorical(theta)                                          the type of item i
    D_ij             ~ Bernoulli(delta_j)                                          1: j answers item i diligently
    X_ij             ~ Bernoulli(p_t(i)) if D_ij = 1, else ~ Bernoulli(p_L)        1: the positive answer
    e_jt             = delta_j p_t + (1 - delta_j) p_L                             (1)  D is summed out
    p(t_i = t, X_i)  = theta_t prod_j e_jt^X_ij (1 - e_jt)^(1 - X_ij)              (2)
    p(X_i)           = sum_t p(t_i = t, X_i)                                       the likelihood

The data have two labels; the last is the positive one.  `data.binarise(positive=...)` reduces several labels to two.

Symbols, and priors.
    theta    weight      (item_type)   ~ Dirichlet(weight_prior), 1 by default
    p        rate        (item_type)   ascending; gaps are Dirichlet as in `binomial_mixture`, by rate_prior, (3, 3) by
                         default: even diligent annotators err now and then
    delta    diligence   (annotator)   ~ Beta(diligence_prior), (1, 0.5) by default: two thirds on average, most mass
                         next to 1, and three in ten lazy more often than not; laziness is 1 - delta
    p_L      lazy_rate   ()            ~ Beta(lazy_rate_prior), (1, 1) by default
             hard        (item), derived: P(t_i is the type whose rate is nearest to one half in the draw)

Identifiability.  The data identify only the e_jt of (1), which do not change if all distances of p_t from p_L are
multiplied by a factor and all delta_j are divided by it.  The prior fixes the scale, since its mass near 1 makes the
most diligent annotators fully diligent: "lazy" means lazy compared with the best, or contrary to the truth.  In other
modes one spammer is diligent and all others are lazy, or the rates are mirrored; `bayesanno.combine_modes(fit)` weights
them.

Use when answers are yes or no, there are many annotators, items differ in difficulty, and the question is which
annotators do not read the items (`p_chance` in `bayesanno.annotator_table`).  Avoid when each item has one true label;
use `mace`.

References.
    B. Beigman Klebanov and E. Beigman (2010), Some empirical evidence for annotation noise in a benchmarked dataset,
    NAACL-HLT, pages 438-446, https://aclanthology.org/N10-1067.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, override

import numpy as np

from bayesanno._core.fields import Positive, Range
from bayesanno._core.lazy import pm, pt, xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling import item_types
from bayesanno.modeling.arguments import Answers, Design, Parameters, Priors
from bayesanno.modeling.expectation import agreement_with_vote, in_proportion
from bayesanno.modeling.ops.variables import beta_by_probit


@dataclass(frozen=True, kw_only=True)
class DiligentLazyAnnotators(item_types.ItemTypeModel):
    """Item types, and annotators who differ in how often they answer lazily.

    Parameters
    ----------
    types : int, default 2
        Number of item types, at least 2: with one type, lazy annotators could not be recognised.
    weight_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of the weights.
    rate_prior : tuple of two floats, default (3, 3)
        Concentrations of the Dirichlet prior of the gaps between rates: of the outer gaps, and of the inner ones.
    diligence_prior : tuple of two floats, default (1, 0.5)
        The Beta prior of each annotator's diligence.
    lazy_rate_prior : tuple of two floats, default (1, 1)
        The Beta prior of the rate of positive answers among the lazy ones.

    Examples
    --------
    >>> from bayesanno.models import DiligentLazyAnnotators
    >>> DiligentLazyAnnotators(types=3).diligence_prior
    (1.0, 0.5)
    """

    name: ClassVar[str] = "diligent_lazy_annotators"
    competence: ClassVar[str | None] = "diligence"
    two_labels: ClassVar[bool] = True
    takes_controls: ClassVar[bool] = False

    types: Annotated[int, Range(1, np.inf)] = 2
    weight_prior: Positive = 1.0
    rate_prior: tuple[Positive, Positive] = (3.0, 3.0)
    diligence_prior: tuple[Positive, Positive] = (1.0, 0.5)
    lazy_rate_prior: tuple[Positive, Positive] = (1.0, 1.0)

    @override
    def priors(self, data: AnnotationData, prior: Priors) -> None:
        item_types.declare_weight(prior, self.types)
        item_types.declare_ascending("rate", prior.rate_prior, self.types)
        beta_by_probit("diligence", prior.diligence_prior, dims="annotator")
        pm.Beta("lazy_rate", prior.lazy_rate_prior[0], prior.lazy_rate_prior[1])

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        item_type = pm.Categorical.dist(p.weight, shape=(design.n_items,))  # (item,)
        diligent = pm.Bernoulli.dist(p.diligence[design.annotator])  # (annotation,)
        return item_type, pm.Bernoulli.dist(pt.switch(diligent, p.rate[item_type[design.item]], p.lazy_rate))

    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        delta = p.diligence[:, None]
        positive = delta * p.rate + (1 - delta) * p.lazy_rate  # (annotator, item_type), (1)
        negative = delta * (1 - p.rate) + (1 - delta) * (1 - p.lazy_rate)
        table = pt.log(pt.stack([negative, positive], axis=1))  # (annotator, response, item_type)
        return pt.log(p.weight) + answers.sum_over_annotations(table)  # (item, item_type), (2)

    @override
    def above_chance(self, posterior: xr.Dataset, data: AnnotationData) -> xr.DataArray:
        return posterior["diligence"]

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        agreed, n_annotations = agreement_with_vote(data)  # (annotator,)
        rate = np.linspace(0.1, 0.9, self.types)
        nearest = np.abs(data.vote_shares[:, -1:] - rate).argmin(axis=1)  # (item,)
        return {
            "weight": in_proportion(np.bincount(nearest, minlength=self.types) + 1),
            "rate": rate,
            "diligence": np.clip(2 * (agreed + 0.9) / (n_annotations + 1) - 1, 0.1, 0.9),
            "lazy_rate": np.array(((data.label == data.n_labels - 1).sum() + 1) / (data.n_annotations + 2)),
        }
