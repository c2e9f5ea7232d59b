"""Items whose true label nobody gave: which label it may be, and what a known label says of them, symbolic.

Model A leaves that label unnamed. By convention the state "none of those said" is spread over the labels that nobody
gave, in proportion to their frequency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.lazy import pt

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.modeling.arguments import Answers


def spread_unsaid(answers: Answers, truth: TensorVariable) -> TensorVariable:
    """Return each label's share of "none of those said", in proportion to its frequency `truth`; (item, response)."""
    unsaid = truth * (1 - answers.index["possible"][:, : answers.n_responses])
    total = unsaid.sum(axis=1, keepdims=True)
    return unsaid / pt.switch(total > 0, total, 1.0)


def constrain_to_known(
    logp: TensorVariable, control: TensorVariable, answers: Answers, truth: TensorVariable
) -> TensorVariable:
    """Take known labels (item,), -1 where unknown, into log p(state, answers).

    A known label that nobody gave leaves "none of those said", and is one of several labels that it could be.
    """
    of_others = spread_unsaid(answers, truth)  # (item, response)
    label, items = pt.maximum(control, 0), pt.arange(control.shape[0])
    was_said = answers.index["possible"][items, label] > 0
    state = pt.switch(was_said, label, answers.n_responses)[:, None]
    here = pt.eq(pt.arange(answers.n_responses + 1)[None, :], state)
    weight = pt.switch(was_said, 1.0, of_others[items, label])[:, None]
    return pt.switch((control < 0)[:, None], logp, pt.switch(here, logp + pt.log(weight), -np.inf))


def label_posterior(answers: Answers, probability: TensorVariable, truth: TensorVariable) -> TensorVariable:
    """Return the posterior of the true label, "none of those said" spread over the others; (item, response)."""
    n_labels = answers.n_responses
    spread = spread_unsaid(answers, truth)
    if answers.control is not None:
        known = pt.eq(pt.arange(n_labels)[None, :], answers.control[:, None]) * 1.0
        spread = pt.switch((answers.control >= 0)[:, None], known, spread)
    return probability[:, :n_labels] + probability[:, n_labels][:, None] * spread
