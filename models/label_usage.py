"""Label usage: how often each annotator gives each label, regardless of the items (after Bhardwaj et al. 2010).

Generative process.  Every answer of annotator a is drawn from a's own habit theta_a.  There is no true label, and items
do not matter.  Labels that are not classes, such as "unsure", are treated like the others.

    theta_a   ~ Dirichlet(alpha_1, ..., alpha_K)
    A_ia      ~ Categorical(theta_a)
    p(A_i)    = prod_a theta_a[A_ia]                                  items have one state: there is no latent

The posterior is known: theta_a | A ~ Dirichlet(alpha + n_a), with n_a the counts of a's answers by label.

Symbols, and priors.
    theta   usage   (annotator, response)
    alpha   habit   (response), with centre="common"; or usage_prior for every label
With centre="common", alpha = s m: m is the share of each label among all answers, and s, how similar annotators are, is
the most probable value under p(s) ~ 1 / (20 + s)^2 with the usages integrated out (Minka 2000).  No alpha is below 1/2,
which would not sample.  Both come from the data and are treated as known (empirical Bayes).  Annotators with few
answers are assumed to be like the others, to the extent that those are similar.  With centre="even" they seem unlike
the others, since the habits of the others are not even.

Identifiability.  Each annotator's usage is learnt from their own answers and from the common habit.

Use when the question is which annotators behave unlike the others (`bayesanno.behaviour_table`), before any model of
the truth.  Avoid when the question is who is right: good annotators with other items also use labels differently.

References.
    V. Bhardwaj, R. J. Passonneau, A. Salleb-Aouissi and N. Ide (2010), Anveshan: a framework for analysis of multiple
    annotators' labeling behavior, Linguistic Annotation Workshop, pages 47-55, https://aclanthology.org/W10-1806.
    T. P. Minka (2000), Estimating a Dirichlet distribution, https://tminka.github.io/papers/dirichlet/.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt
from bayesanno.agreement.behaviour import usage_shares
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Answers, Design, FixedParameter, LatentPosterior, Parameters, Priors
from bayesanno.modeling.base import AnnotationModel

MIDDLE = 20.0  # the prior median of the weight of the common habit, in answers


@dataclass(frozen=True, kw_only=True)
class LabelUsage(AnnotationModel):
    """How often each annotator gives each label.

    Parameters
    ----------
    centre : {"common", "even"}, default "common"
        Whether the prior of an annotator's usage is centred on the common usage, or on equal shares.
    usage_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of the usage, with centre="even".

    Examples
    --------
    >>> from bayesanno.models import LabelUsage
    >>> LabelUsage().usage_prior
    1.0
    """

    name: ClassVar[str] = "label_usage"
    state_dim: ClassVar[str] = ""  # items have no latent
    takes_controls: ClassVar[bool] = False
    takes_other_labels: ClassVar[bool] = True

    centre: Literal["common", "even"] = "common"
    usage_prior: Positive = 1.0

    def states(self, data: AnnotationData) -> tuple[str, ...]:
        return ()  # nothing is unknown about an item

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        is_common, each_label = self.centre == "common", np.ones(data.n_labels)
        habit = pm.modelcontext(None)["habit"] if is_common else prior.usage_prior * each_label
        pm.Dirichlet("usage", habit, dims=("annotator", "response"))

    def fixed_parameters(self, data: AnnotationData) -> dict[str, FixedParameter]:
        return {"habit": FixedParameter(find_common_habit(data), ("response",))} if self.centre == "common" else {}

    def without_data(self) -> LabelUsage:
        return replace(self, centre="even")

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        return pt.zeros((design.n_items,), dtype="int64"), pm.Categorical.dist(p.usage[design.annotator])

    def item_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        return answers.sum_over_annotations(pt.log(p.usage)[:, :, None])[:, 0]

    def latent_posterior(self, answers: Answers, p: Parameters) -> LatentPosterior:
        return LatentPosterior(self.item_logp(answers, p))

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        return {"usage": usage_shares(data, smoothing=1)}


def find_common_habit(data: AnnotationData) -> np.ndarray:
    """Return the Dirichlet concentrations (response,) of the prior of usages, none below 1/2."""
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    counts = data.usage  # (annotator, response)
    n = counts.sum(axis=1)
    share = (counts.sum(axis=0) + 1) / (n.sum() + data.n_labels)

    def loss(log_strength: float) -> float:
        strength = np.exp(log_strength)
        alpha = strength * share
        evidence = gammaln(strength) - gammaln(strength + n) + (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=1)
        return float(-evidence.sum() - log_strength + 2 * np.log(MIDDLE + strength))

    found = minimize_scalar(loss, bounds=(np.log(0.1), np.log(1e4)), method="bounded")
    return np.maximum(np.exp(found.x) * share, 0.5)
