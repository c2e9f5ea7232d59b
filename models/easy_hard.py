"""Easy and hard items: all agree on an easy one, and each flips a coin on a hard one (Beigman Klebanov, Beigman 2009).

Generative process (section 2 of the paper; its eq. 1 is in `bayesanno.agreement.noise`).  On an easy item every
annotator recognises and gives the label.  On a hard item annotator j flips their own coin, which may favour a label.
So items with disagreement are hard.  Some items with agreement are hard too, and agreed on by chance: they are the
annotation noise in a gold standard of agreed items.

    L_i                          ~ Categorical(q)                    the label of item i, if it has one that can be seen
    H_i                          ~ Bernoulli(h)                      1: hard
    X_ij                         = L_i if H_i = 0, else ~ Categorical(b_j)

    p(H_i = 0, L_i = k, X_i)     = (1 - h) q_k prod_j [X_ij = k]                       (1)  easy, with label k
    p(H_i = 1, X_i)              = h prod_j b_j[X_ij]                                  (2)  hard
    p(X_i)                       = (2) + sum_k (1)                                     the likelihood

With easy_error="learnt" annotators may err on easy items, as section 5.2 of the paper proposes: j errs with probability
s_j, and then gives any of the other K - 1 labels.  [X_ij = k] in (1) becomes 1 - s_j if X_ij = k, else s_j / (K - 1).

Symbols, and priors.
    h    hard_fraction     ()                      ~ Beta(1, 1): the P(B_h) of the paper
    q    easy_prevalence   (response)              ~ Dirichlet(easy_prevalence_prior): 1 by default
    b    coin              (annotator, response)   ~ Dirichlet(coin_prior): 10 by default, which is nearly even
    s    slip              (annotator)             ~ Beta(1, 9): one in ten on average; only with easy_error="learnt"
         hard              (item), derived: p(H_i = 1 | X_i), which is the last state's probability
With two annotators and two labels, coin_prior=100 reproduces the paper's p = 1/2; with 1, p is nearly unknown, and the
noise level is several times as large.

Controls.  A known true label excludes the other labels if the item is easy, and is assumed to be drawn from q in either
case.  (In the paper, hard items have no true label.)

Identifiability.  Answers of two annotators do not distinguish a small share of hard items with fair coins from a large
share with coins that agree; h then depends on coin_prior.  Answers of three or more do.  With "none", one slip makes an
item hard.  With "learnt", coins that nearly always fall the same way can take the place of an easy label.

Use when few annotators (two to five) label all items with care, and the question is how clean the agreed part is
(`bayesanno.noise.noise_posterior`).  Avoid for crowds, who slip and spam, and if hard items need a label too.

References.
    B. Beigman Klebanov and E. Beigman (2009), From annotator agreement to noise models, Computational Linguistics
    35(4):495-503, doi:10.1162/coli.2009.35.4.35402.
    M. Aickin (1990), Maximum likelihood estimation of agreement in the constant predictive probability model, and its
    relation to Cohen's kappa, Biometrics 46(2):293-302.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Answers, Derived, Design, Parameters, Priors
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.expectation import in_proportion
from bayesanno.modeling.ops.variables import beta_by_probit


@dataclass(frozen=True, kw_only=True)
class EasyHard(AnnotationModel):
    """Agreement on easy items, coins on hard ones.

    Parameters
    ----------
    hard_prior : tuple of two floats, default (1, 1)
        The Beta prior of the share of hard items.
    coin_prior : float, default 10
        Concentration of the symmetric Dirichlet prior of each annotator's coin.
    easy_prevalence_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of the labels of easy items.
    easy_error : {"none", "learnt"}, default "none"
        Whether annotators never err on easy items, as in the paper, or err with a learnt probability of their own.
    slip_prior : tuple of two floats, default (1, 9)
        The Beta prior of that probability.

    Examples
    --------
    >>> from bayesanno.models import EasyHard
    >>> EasyHard(easy_error="learnt").slip_prior
    (1.0, 9.0)
    """

    name: ClassVar[str] = "easy_hard"
    state_dim: ClassVar[str] = "item_type"

    hard_prior: tuple[Positive, Positive] = (1.0, 1.0)
    coin_prior: Positive = 10.0
    easy_prevalence_prior: Positive = 1.0
    easy_error: Literal["none", "learnt"] = "none"
    slip_prior: tuple[Positive, Positive] = (1.0, 9.0)

    def states(self, data: AnnotationData) -> tuple[str, ...]:
        return (*(f"easy: {label}" for label in data.labels), "hard")

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        each_label = np.ones(data.n_labels)
        pm.Beta("hard_fraction", prior.hard_prior[0], prior.hard_prior[1])
        pm.Dirichlet("coin", prior.coin_prior * each_label, dims=("annotator", "response"))
        pm.Dirichlet("easy_prevalence", prior.easy_prevalence_prior * each_label, dims="response")
        if self.easy_error == "learnt":
            beta_by_probit("slip", prior.slip_prior, dims="annotator")

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        n_labels = p.easy_prevalence.shape[0]
        label = design.with_controls(pm.Categorical.dist(p.easy_prevalence, shape=(design.n_items,)))  # (item,)
        hard = pm.Bernoulli.dist(p.hard_fraction, shape=(design.n_items,))
        state = pt.switch(hard, n_labels, label)  # (item,)
        response = state[design.item]  # (annotation,), of easy items
        if self.easy_error == "learnt":
            step = pm.DiscreteUniform.dist(1, n_labels - 1, shape=(design.item.shape[0],))
            another = pt.mod(response + step, n_labels)
            response = pt.switch(pm.Bernoulli.dist(p.slip[design.annotator]), another, response)
        flipped = pm.Categorical.dist(p.coin[design.annotator])
        return state, pt.switch(pt.eq(state[design.item], n_labels), flipped, response)

    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        right = np.tile(answers.names_class.T, (answers.n_annotators, 1, 1))  # (annotator, response, label)
        if self.easy_error == "none":
            log_easy = pt.as_tensor(np.where(right, 0.0, -np.inf))
        else:
            miss = p.slip[:, None, None]
            log_easy = pt.log(pt.switch(right, 1 - miss, miss / (answers.n_responses - 1)))
        table = pt.concatenate([log_easy, pt.log(p.coin)[:, :, None]], axis=2)  # (annotator, response, state)
        easy, hard = pt.log1p(-p.hard_fraction) + pt.log(p.easy_prevalence), pt.log(p.hard_fraction)
        return pt.concatenate([easy, hard[None]]) + answers.sum_over_annotations(table)  # (item, state), (1) and (2)

    def constrain(
        self, logp: pt.TensorVariable, control: pt.TensorVariable, answers: Answers, p: Parameters
    ) -> pt.TensorVariable:
        known, state = control[:, None], pt.arange(logp.shape[1])[None, :]  # (item, 1), (1, state)
        hard = pt.eq(state, answers.n_responses)
        of_hard = logp + pt.log(p.easy_prevalence)[pt.maximum(known, 0)]  # the known label is drawn from q: not in (2)
        return pt.switch(known < 0, logp, pt.switch(hard, of_hard, pt.switch(pt.eq(state, known), logp, -np.inf)))

    @override
    def derived(self, answers: Answers, probability: pt.TensorVariable, p: Parameters) -> dict[str, Derived]:
        return {"hard": Derived(("item",), probability[:, -1])}

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        ranked = np.sort(data.vote_shares, axis=1)  # (item, label)
        margin = ranked[:, -1] - ranked[:, -2]  # (item,), 1 where all agree
        hard = (margin < 1) * 1.0 if self.easy_error == "none" else 1 - margin
        coin = np.ones((data.n_annotators, data.n_labels))
        np.add.at(coin, (data.annotator, data.label), hard[data.item])
        easy = ((1 - hard)[:, None] * data.vote_shares).sum(axis=0) + 1  # (response,)
        fraction = np.array((hard.sum() + 1) / (data.n_items + 2))
        values = {"hard_fraction": fraction, "coin": in_proportion(coin), "easy_prevalence": in_proportion(easy)}
        return values | ({"slip": np.full(data.n_annotators, 0.1)} if self.easy_error == "learnt" else {})
