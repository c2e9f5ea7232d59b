"""Model A: an annotator is right or wrong, and agreement between annotators shows which (Rzhetsky et al. 2009).

Generative process.  Annotator x finds an item's true value with probability theta_x, the accuracy, and otherwise gives
another label.  The model keeps only the pattern of agreement.  The values are then drawn from the label frequencies
omega, on the sole condition that the same annotators agree.  Numbers of equations and tables are those of the
supplement, which has k = 3 annotations per item; here k is from 1 to 8.  lambda contains the sizes of the blocks of
annotators who agree.

    T_j                  ~ Bernoulli(theta_j)                   annotation j is correct (5)
    Psi                  ~ Categorical(omega)                   the truth, given by the correct annotators
    wrong annotators     ~ Categorical(omega without Psi)       independently; keep the pattern, discard the values
    P(V | A)             = prod_b omega[v_b]^n_b / D_lambda(omega)              beta, Table 5
    alpha(mu)            = sum_Psi omega_Psi D_mu(omega without Psi, renormalised)    Table 4: wrong blocks are mu
    p(block b is right, V)    = beta  prod_(j in b) theta_j  prod_(j not in b) (1 - theta_j)  alpha(lambda without n_b)
    p(nobody is right, V)     = beta  prod_j (1 - theta_j)  alpha(lambda)

    D_lambda(w) sums prod_b w[x_b]^n_b over all ways to give the blocks different labels x_b (`_correctness/blocks.py`).

The correct annotators are exactly one block, or nobody ("none of these"): these states are summed out.

Symbols, and priors.
    theta    accuracy            (annotator)   ~ Beta(2, 1): density 2 theta, more often right than wrong (5)
    omega    frequency           (response)    as set by the field `frequency`; or (annotator, response)
             correct             (annotation), derived: P(T_j = 1), see `correctness_table` (Table 8, 6)
             label_probability   (item, response), derived: "none of these" is spread in proportion to omega
With frequency="empirical", omega is the pooled share of each label, as in the paper's tables.  With "shared", there is
one omega ~ Dirichlet(frequency_prior) for all.  With "annotator", the paper's second variant, annotator j draws from
omega_j, and Psi is drawn from their mean weighted by numbers of annotations (our choice, since the truth must not
depend on who is asked); blocks have weights prod_(j in b) omega_j[x].  With alpha="unnormalised", wrong annotators draw
from all of omega, and two of them with the label Psi count as agreeing.

Identifiability.  omega is not the frequency of labels in the data, since beta raises it to the size of blocks.  There
are two modes, with high and with low accuracies, of very different density unless there are few labels.  With two
labels, only the prior distinguishes theta and 1 - theta.  An item with one annotation does not inform accuracies.

Use when items have few annotations each, and one number per annotator is enough for accuracy.  Avoid when annotators
confuse particular labels (`model_b`), and with more than eight annotations per item.

References.
    A. Rzhetsky, H. Shatkay and W. J. Wilbur (2009), How to get the most out of your curation effort,
    PLoS Computational Biology 5(5):e1000391, doi:10.1371/journal.pcbi.1000391, supplement, sections 4 to 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import NONE_OF_THESE, Answers, Derived, Design, FixedParameter, Parameters, Priors
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.expectation import agreement_with_vote, in_proportion
from bayesanno.modeling.findings import Finding, find
from bayesanno.modeling.kinds.base import Arrays, Patterns
from bayesanno.modeling.likelihood import generate_in_numpy
from bayesanno.models._correctness.blocks import block_arrays, check_blocks, pooled_shares
from bayesanno.models._correctness.formula import alpha_and_d, constrain_to_known, label_posterior, truth_frequency
from bayesanno.models._correctness.process import Process


@dataclass(frozen=True, kw_only=True)
class ModelA(AnnotationModel):
    """One accuracy per annotator, learnt from the pattern of agreement.

    Parameters
    ----------
    accuracy_prior : tuple of two floats, default (2, 1)
        The Beta prior of the accuracy.
    frequency : {"empirical", "shared", "annotator"}, default "empirical"
        Label frequencies: pooled from the data, one learnt for all, or one learnt for each annotator.
    frequency_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of learnt frequencies.
    alpha : {"normalised", "unnormalised"}, default "normalised"
        How wrong annotators agree: as in Table 4, or as in the data of Table 9 (three annotations per item).

    Examples
    --------
    >>> from bayesanno.models import ModelA
    >>> ModelA(frequency="shared").accuracy_prior
    (2.0, 1.0)
    """

    name: ClassVar[str] = "model_a"
    competence: ClassVar[str | None] = "accuracy"

    accuracy_prior: tuple[Positive, Positive] = (2.0, 1.0)
    frequency: Literal["empirical", "shared", "annotator"] = "empirical"
    frequency_prior: Positive = 1.0
    alpha: Literal["normalised", "unnormalised"] = "normalised"

    def check(self, data: AnnotationData) -> None:
        super().check(data)
        check_blocks(self.name, data, exactly_three=self.alpha == "unnormalised")
        self.fixed_parameters(data)  # raises an error if only one label was given

    def states(self, data: AnnotationData) -> tuple[str, ...]:
        return (*data.labels, NONE_OF_THESE)

    @override
    def findings(self, data: AnnotationData) -> Iterator[Finding]:
        if data.n_labels == 2 and not data.controls:
            yield find("mirrored", ["accuracy"])

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        pm.Beta("accuracy", prior.accuracy_prior[0], prior.accuracy_prior[1], dims="annotator")
        if self.frequency != "empirical":
            dims = ("annotator", "response") if self.frequency == "annotator" else ("response",)
            pm.Dirichlet("frequency", prior.frequency_prior * np.ones(data.n_labels), dims=dims)

    def fixed_parameters(self, data: AnnotationData) -> dict[str, FixedParameter]:
        if self.frequency == "empirical":
            return {"frequency": FixedParameter(pooled_shares(data), ("response",))}
        share = np.bincount(data.annotator, minlength=data.n_annotators) / data.n_annotations
        return {"share": FixedParameter(share, ("annotator",))} if self.frequency == "annotator" else {}

    def without_data(self) -> ModelA:
        return replace(self, frequency="shared") if self.frequency == "empirical" else self

    def index_arrays(self, data: AnnotationData, patterns: Patterns, dimension: str = "") -> Arrays:
        options = {"by_annotator": self.frequency == "annotator", "unnormalised": self.alpha == "unnormalised"}
        return block_arrays(self.name, data, patterns.layouts[dimension], dimension, **options)

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        omega = pt.ones((p.accuracy.shape[0], 1)) * p.frequency  # (annotator, response)
        control = pt.full((design.n_items,), -1) if design.control is None else design.control
        theta, truth = p.accuracy[design.annotator], truth_frequency(p)
        inputs, n = [theta, omega, truth, design.annotator, design.item, control], design.item.shape[0]
        sizes = {"n_states": design.n_items, "n_annotations": n}
        return generate_in_numpy(Process(self.alpha), inputs, states_from=[truth], **sizes)

    def state_logp(self, answers: Answers, p: Parameters) -> pt.TensorVariable:
        index, n_labels = answers.index, answers.n_responses
        theta = p.accuracy[:, None, None]
        right = pt.eye(n_labels, n_labels + 1)[None]  # (1, response, state): response v is right if v is the truth
        omega = p.frequency if p.frequency.ndim == 2 else p.frequency[None, :]  # (annotator or 1, response)
        table = pt.log(right * theta + (1 - right) * (1 - theta)) + pt.log(omega)[:, :, None]
        alpha_of, d_of = alpha_and_d(answers, p, normalised=self.alpha == "normalised")
        alpha = pt.switch(index["possible"], alpha_of[index["wrong"]], 0.0)  # (item, state)
        d = d_of[index["blocks"]][:, None]  # (item, 1)
        possible = (alpha > 0) & (d > 0)
        ratio = pt.switch(possible, alpha, 1.0) / pt.switch(possible, d, 1.0)
        return pt.switch(possible, answers.sum_over_annotations(table) + pt.log(ratio), -np.inf)

    def constrain(
        self, logp: pt.TensorVariable, control: pt.TensorVariable, answers: Answers, p: Parameters
    ) -> pt.TensorVariable:
        return constrain_to_known(logp, control, answers, truth_frequency(p))

    def derived(self, answers: Answers, probability: pt.TensorVariable, p: Parameters) -> dict[str, Derived]:
        label = Derived(("item", "response"), label_posterior(answers, probability, truth_frequency(p)))
        correct = Derived(("annotation",), probability[answers.item, answers.response])
        return {"label_probability": label, "correct": correct}

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        agreed, n_annotations = agreement_with_vote(data)  # (annotator,)
        values = {"accuracy": np.clip((agreed + 1.5) / (n_annotations + 2), 0.55, 0.95)}
        if self.frequency != "empirical":
            omega = in_proportion(np.bincount(data.label, minlength=data.n_labels) + 1.0)
            values["frequency"] = np.tile(omega, (data.n_annotators, 1)) if self.frequency == "annotator" else omega
        return values
