"""Model A: an annotator is right or wrong, and who agrees with whom tells which (Rzhetsky et al. 2008).

Story.  An item has a true value.  Annotator x finds it with probability theta_x, the accuracy; who misses it says
something else.  Who agrees with whom is all that is kept of this; the values themselves are then drawn from the label
frequencies omega, under the sole condition that the same annotators agree.  So the answers say who is right by their
pattern: three annotators who agree are all right or all wrong alike, and the latter is rare if there are many labels.

Model.  Equation and table numbers are those of the supplement to Rzhetsky et al. (2008), which has k = 3 annotations
per item; here k is anything from 1 to 8.  lambda is the sizes of the blocks of annotators who agree.

    T_j                  ~ Bernoulli(theta_j)                   annotation j is correct (5)
    Psi                  ~ Categorical(omega)                   the truth; the correct say it
    wrong annotators     ~ Categorical(omega without Psi)       each for itself; keep who agrees with whom, forget what
    P(V | A)             = prod_b omega[v_b]^n_b / D_lambda(omega)              beta, Table 5
    alpha(mu)            = sum_Psi omega_Psi D_mu(omega without Psi, renormalised)    Table 4: wrong ones form blocks mu
    p(block b is right, V)    = beta  prod_(j in b) theta_j  prod_(j not in b) (1 - theta_j)  alpha(lambda without n_b)
    p(nobody is right, V)     = beta  prod_j (1 - theta_j)  alpha(lambda)

    D_lambda(w) sums prod_b w[x_b]^n_b over all ways to give the blocks different labels x_b (`bayesanno.models._correctness.blocks`).

Given what was said, the correct annotators are exactly one block, or nobody: these are the states that are summed out.
An annotator who answers an item twice has two annotations with the same accuracy, each right or wrong for itself.

Symbols.
    theta    accuracy    (annotator)
    omega    frequency   (response), or (annotator, response) where each has its own

Read off: `correct`, the probability that each annotation is correct; the posterior of the true label, with a state of
its own for "none of those said", and as `label_probability` with that state spread over the labels not said in
proportion to omega (a convention: the model leaves the label unnamed).  `correctness_table` lists the correctness
patterns of an item (Table 8) and the most probable of them (6).

Priors and what they imply.
    accuracy ~ Beta(2, 1): density 2 theta, rather right than wrong (5).
    frequency="empirical"  omega is the pooled share of each label, as in the paper's tables; no parameter.
    frequency="shared"     omega ~ Dirichlet(frequency_prior), one for all.
    frequency="annotator"  omega_j ~ Dirichlet(frequency_prior), the paper's second flavour: annotator j draws from
                           omega_j, and Psi from their mean pi, weighted by numbers of annotations (the truth must not
                           depend on who is asked).  alpha and beta run over which blocks, not their sizes, with weights
                           prod_(j in b) omega_j[x].  The choice of weights for pi is ours.
    alpha="unnormalised"   wrong annotators draw from all of omega, and two of them who hit Psi count as agreeing: how
                           the data of Table 9 were made.  Defined for three annotations per item only.

Identifiability.  omega is not the frequency of labels in the data, except where items have one annotation: beta raises
it to the size of blocks, so that `shared` differs widely from the pooled shares.  There are two modes, accuracies high
and accuracies low, far apart in density unless labels are few; a chain in the lower one is reported.  With two labels
the likelihood does not change under theta -> 1 - theta, and only the prior tells them apart.  An item with one
annotation says nothing of accuracy: with pooled frequencies its likelihood is the same in every draw, and ArviZ's `loo`
stops at it; leave such items out of the log likelihood.

Use when items have few annotations each, and accuracy is one number per annotator.  On data in which annotators confuse
particular labels, `model_b` scores higher: on Table 9 its maximum lies 123 nats above that of model A.  Avoid for more
than eight annotations per item.

References.
    A. Rzhetsky, H. Shatkay and W. J. Wilbur (2008), How to get the most out of your curation effort,
    PLoS Computational Biology 5(5):e1000391, doi:10.1371/journal.pcbi.1000391, supplement, sections 4 to 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pm, pt
from bayesanno.modeling.base import AnnotationModel, Positive, hyper, require_data
from bayesanno.modeling.likelihood import observe, tell
from bayesanno.models._correctness.agreement_patterns import MOST, NONE_SAID, Story, check_blocks, pattern_arrays
from bayesanno.models._correctness.blocks import distinct_sums

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.modeling.data_kinds import Patterns
    from bayesanno.modeling.observations import Answers, Design

FIXED = {"frequency": "response", "share": "annotator"}  # what is taken from the data, and its dimension


@dataclass(frozen=True, kw_only=True)
class ModelA(AnnotationModel):
    """Rzhetsky's model A: an accuracy per annotator, learnt from who agrees with whom.

    Parameters
    ----------
    accuracy_prior : tuple of two floats, default (2, 1)
        The Beta prior of the accuracy.
    frequency : {"empirical", "shared", "annotator"}, default "empirical"
        Label frequencies: pooled from the data, one learnt for all, or one learnt for each annotator.
    frequency_prior : float, default 1
        Concentration of the symmetric Dirichlet prior of learnt frequencies.
    alpha : {"normalised", "unnormalised"}, default "normalised"
        How wrong annotators coincide: as in Table 4, or as the data of Table 9 were made (three annotations per item).

    Examples
    --------
    >>> from bayesanno.models.model_a import ModelA
    >>> ModelA(frequency="shared").accuracy_prior
    (2.0, 1.0)
    """

    name: ClassVar[str] = "model_a"
    state_dim: ClassVar[str] = "true_class"
    competence: ClassVar[str | None] = "accuracy"

    accuracy_prior: tuple[Positive, Positive] = (2.0, 1.0)
    frequency: Literal["empirical", "shared", "annotator"] = "empirical"
    frequency_prior: Positive = 1.0
    alpha: Literal["normalised", "unnormalised"] = "normalised"

    def check(self, data: AnnotationData) -> None:
        require_data(self, data)
        check_blocks(self.name, data, exactly_three=self.alpha == "unnormalised")

    def build(self, data: AnnotationData) -> pm.Model:
        self.check(data)
        with pm.Model(coords=data.coords(true_class=self.states(data))) as model:
            parameters = {name: hyper(name, value, dims=FIXED[name]) for name, value in self.fixed(data).items()}
            right = hyper("accuracy_prior", self.accuracy_prior)
            accuracy = pm.Beta("accuracy", right[0], right[1], dims="annotator")
            if self.frequency != "empirical":
                concentration = hyper("frequency_prior", self.frequency_prior) * np.ones(data.n_labels)
                dims = ("annotator", "response") if self.frequency == "annotator" else "response"
                parameters["frequency"] = pm.Dirichlet("frequency", concentration, dims=dims)
            observe(self, data, accuracy=accuracy, **parameters)
        return model

    def states(self, data: AnnotationData) -> tuple[str, ...]:
        return (*data.labels, NONE_SAID)

    def fixed(self, data: AnnotationData) -> dict[str, np.ndarray]:
        if self.frequency == "empirical":
            shares = np.bincount(data.label, minlength=data.n_labels) / data.n_annotations
            if (shares > 0).sum() < 2:
                only = data.labels[int(shares.argmax())]
                raise DataError(
                    f"every annotation says {only!r}: with frequency='empirical' nobody could be wrong; learn the "
                    "frequencies (frequency='shared'), or leave these items out"
                )
            return {"frequency": shares}
        if self.frequency == "annotator":
            return {"share": np.bincount(data.annotator, minlength=data.n_annotators) / data.n_annotations}
        return {}

    def storyteller(self) -> ModelA:
        return replace(self, frequency="shared") if self.frequency == "empirical" else self

    def index_arrays(self, data: AnnotationData, patterns: Patterns) -> dict[str, np.ndarray]:
        by_annotator, unnormalised = self.frequency == "annotator", self.alpha == "unnormalised"
        return pattern_arrays(data, patterns.layout, by_annotator=by_annotator, unnormalised=unnormalised)

    def state_logp(
        self,
        answers: Answers,
        accuracy: TensorVariable,
        frequency: TensorVariable,
        share: TensorVariable | None = None,
    ) -> TensorVariable:
        index, n_labels = answers.index, answers.n_labels
        theta = accuracy[:, None, None]
        right = pt.eye(n_labels, n_labels + 1)[None]  # (1, response, state): who says v is right if v is the truth
        omega = frequency if frequency.ndim == 2 else frequency[None, :]  # (annotator or 1, response)
        table = pt.log(right * theta + (1 - right) * (1 - theta)) + pt.log(omega)[:, :, None]
        alpha_of, d_of = self._alpha_and_d(answers, frequency, share)  # (set of blocks,) each
        alpha = pt.switch(index["pattern_possible"], alpha_of[index["pattern_wrong"]], 0.0)  # (item, state)
        d = d_of[index["pattern_blocks"]][:, None]  # (item, 1)
        possible = (alpha > 0) & (d > 0)
        ratio = pt.switch(possible, alpha, 1.0) / pt.switch(possible, d, 1.0)
        return pt.switch(possible, answers.total(table) + pt.log(ratio), -np.inf)  # (item, state)

    def _alpha_and_d(
        self, answers: Answers, frequency: TensorVariable, share: TensorVariable | None
    ) -> tuple[TensorVariable, TensorVariable]:
        """Return alpha and D of every set of blocks, by their sizes or, for `annotator`, by their members."""
        index, n_labels = answers.index, answers.n_labels
        drawn = frequency if frequency.ndim == 2 else frequency[None, :]  # (annotator or 1, response)
        wrong = drawn[:, None, :] * (1 - pt.eye(n_labels))  # (annotator, truth, response)
        if self.alpha == "normalised":
            mass = wrong.sum(axis=2, keepdims=True)
            wrong = wrong / pt.switch(mass > 0, mass, 1.0)
        rows = pt.concatenate([wrong, drawn[:, None, :]], axis=1)  # (annotator, truth or whatever, response)
        if share is None:
            weights = rows ** np.arange(1.0, MOST + 1)[:, None, None]  # (size - 1, ...): all of a block draw the same
        else:
            members, weights = pt.concatenate([rows, pt.ones_like(rows[:1])]), 1.0
            for slot in range(MOST):
                weights = weights * members[index["block_member"][:, slot]]  # (block, truth or whatever, response)
        sums = distinct_sums(weights, index["part"], index["child"], index["times"], n_labels)
        alpha = sums[:, :n_labels] @ _truth_frequency(frequency, share)
        return (index["coincide"] @ alpha if self.alpha == "unnormalised" else alpha), sums[:, n_labels]

    def constrain(
        self,
        logp: TensorVariable,
        answers: Answers,
        frequency: TensorVariable,
        share: TensorVariable | None = None,
        **_: TensorVariable,
    ) -> TensorVariable:
        # a known label that nobody said leaves "none of those said", and is one of several labels that it could be
        n_labels, known = answers.n_labels, answers.control
        if known is None:
            return logp
        of_others = _spread(answers, _truth_frequency(frequency, share))  # (item, response)
        label = pt.maximum(known, 0)
        items = pt.arange(known.shape[0])
        was_said = answers.index["pattern_possible"][items, label] > 0
        state = pt.switch(was_said, label, n_labels)[:, None]
        here = pt.eq(pt.arange(n_labels + 1)[None, :], state)
        weight = pt.switch(was_said, 1.0, of_others[items, label])[:, None]
        return pt.switch((known < 0)[:, None], logp, pt.switch(here, logp + pt.log(weight), -np.inf))

    def views(
        self,
        answers: Answers,
        probability: TensorVariable,
        frequency: TensorVariable,
        share: TensorVariable | None = None,
        **_: TensorVariable,
    ) -> dict[str, tuple[tuple[str, ...], TensorVariable]]:
        n_labels = answers.n_labels
        spread = _spread(answers, _truth_frequency(frequency, share))  # (item, response)
        if answers.control is not None:
            known = pt.eq(pt.arange(n_labels)[None, :], answers.control[:, None]) * 1.0
            spread = pt.switch((answers.control >= 0)[:, None], known, spread)
        return {
            "label_probability": (
                ("item", "response"),
                probability[:, :n_labels] + probability[:, n_labels][:, None] * spread,
            ),
            "correct": (("annotation",), probability[answers.item, answers.said]),
        }

    def view_coords(self, data: AnnotationData) -> dict[str, tuple[str, ...]]:
        return {"response": data.labels}

    def generate(
        self,
        design: Design,
        accuracy: TensorVariable,
        frequency: TensorVariable,
        share: TensorVariable | None = None,
    ) -> tuple[TensorVariable, TensorVariable]:
        omega = pt.ones((accuracy.shape[0], 1)) * frequency  # (annotator, response)
        control = pt.full((design.n_items,), -1) if design.control is None else design.control
        theta, truth = accuracy[design.annotator], _truth_frequency(frequency, share)
        inputs = [theta, omega, truth, design.annotator, design.item, control]
        return tell(Story(self.alpha), inputs, n_states=design.n_items, n_annotations=design.item.shape[0])

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        agreement = data.vote_shares[data.item, data.label]  # (annotation,)
        agreed = np.bincount(data.annotator, weights=agreement, minlength=data.n_annotators)
        n_answers = np.bincount(data.annotator, minlength=data.n_annotators)  # (annotator,)
        values = {"accuracy": np.clip((agreed + 1.5) / (n_answers + 2), 0.55, 0.95)}
        if self.frequency != "empirical":
            counts = np.bincount(data.label, minlength=data.n_labels) + 1.0
            rows = (data.n_annotators, 1) if self.frequency == "annotator" else 1
            values["frequency"] = np.tile(counts / counts.sum(), rows)
        return values


def _truth_frequency(frequency: TensorVariable, share: TensorVariable | None) -> TensorVariable:
    """Return how frequent each true label is: omega, or its mean over annotations; shape (response,)."""
    return frequency if share is None else share @ frequency


def _spread(answers: Answers, truth: TensorVariable) -> TensorVariable:
    """Return each label's share of "none of those said": in proportion to its frequency; shape (item, response)."""
    unsaid = truth * (1 - answers.index["pattern_possible"][:, : answers.n_labels])
    total = unsaid.sum(axis=1, keepdims=True)
    return unsaid / pt.switch(total > 0, total, 1.0)
