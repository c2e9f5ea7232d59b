"""Model A's formula, symbolic: how likely the wrong ones are to agree as they do, and items whose truth nobody gave.

The sums over distinct labels that it needs are run here, as `bayesanno.models._correctness.blocks` lists them. Model A
leaves the true label unnamed where nobody gave it. By convention the state "none of these" is spread over the
labels that nobody gave, in proportion to their frequency. Symbols and equations are in the card of
`bayesanno.models.model_a`.
"""

from __future__ import annotations

import numpy as np

from bayesanno._core.lazy import pt
from bayesanno.modeling.arguments import Answers, Parameters
from bayesanno.models._correctness.blocks import MOST


def alpha_and_d(answers: Answers, p: Parameters, *, normalised: bool) -> tuple[pt.TensorVariable, pt.TensorVariable]:
    """Return alpha and D of every set of blocks, by their sizes, or by their members where annotators draw differently.

    Parameters
    ----------
    answers : Answers
    p : Parameters
        `frequency`, omega, (response,) or (annotator, response); then `share` (annotator,), of the annotations.
    normalised : bool
        Whether wrong annotators draw from omega without the truth.
    """
    frequency = p.frequency
    index, n_labels = answers.index, answers.n_responses
    drawn = frequency if frequency.ndim == 2 else frequency[None, :]  # (annotator or 1, response)
    wrong = drawn[:, None, :] * (1 - pt.eye(n_labels))  # (annotator, truth, response)
    if normalised:
        mass = wrong.sum(axis=2, keepdims=True)
        wrong = wrong / pt.switch(mass > 0, mass, 1.0)
    rows = pt.concatenate([wrong, drawn[:, None, :]], axis=1)  # (annotator, truth or whatever, response)
    if frequency.ndim == 1:
        weights = rows ** np.arange(1.0, MOST + 1)[:, None, None]  # (size - 1, ...): all of a block draw the same
    else:
        members, weights = pt.concatenate([rows, pt.ones_like(rows[:1])]), 1.0
        for slot in range(MOST):
            weights = weights * members[index["block_member"][:, slot]]  # (block, truth or whatever, response)
    sums = distinct_sums(weights, index["part"], index["child"], index["times"], n_labels)
    alpha = (sums[:, :n_labels] * truth_frequency(p)).sum(axis=1)
    return (alpha if normalised else (index["coincide"] * alpha).sum(axis=1)), sums[:, n_labels]


def truth_frequency(p: Parameters) -> pt.TensorVariable:
    """Return how frequent each true label is: omega, or its mean over annotations; shape (response,)."""
    share = p.get("share")
    return p.frequency if share is None else (share[:, None] * p.frequency).sum(axis=0)


def distinct_sums(
    weights: pt.TensorVariable,
    part: pt.TensorVariable,
    child: pt.TensorVariable,
    times: pt.TensorVariable,
    n_labels: int,
) -> pt.TensorVariable:
    """Run a recurrence over the labels.

    Parameters
    ----------
    weights : TensorVariable, shape (kind, row, label)
        The weight of each kind of block at each label, for several rows of frequencies at once.
    part, child, times : TensorVariable of int, shape (state, term)
        A `Recurrence`, of `find_recurrence`.
    n_labels : int

    Returns
    -------
    TensorVariable, shape (state, row)
    """
    n_states, n_rows = part.shape[0], weights.shape[1]
    added = times.flatten()[:, None, None] * weights[part.flatten()]  # (state x term, row, label)
    at_start = pt.eq(pt.arange(n_states), 0).astype(weights.dtype)  # (state,), state 0 has no block
    total = at_start[:, None] * pt.ones_like(weights[0, :, 0])  # (state, row)
    for label in range(n_labels):
        more = added[:, :, label] * total[child.flatten()]  # (state x term, row)
        total = total + more.reshape((n_states, part.shape[1], n_rows)).sum(axis=1)
    return total


def spread_unsaid(answers: Answers, truth: pt.TensorVariable) -> pt.TensorVariable:
    """Return each label's share of "none of these", in proportion to its frequency `truth`; (item, response)."""
    unsaid = truth * (1 - answers.index["possible"][:, : answers.n_responses])
    total = unsaid.sum(axis=1, keepdims=True)
    return unsaid / pt.switch(total > 0, total, 1.0)


def constrain_to_known(
    logp: pt.TensorVariable, control: pt.TensorVariable, answers: Answers, truth: pt.TensorVariable
) -> pt.TensorVariable:
    """Take known labels (item,), -1 where unknown, into log p(state, answers).

    A known label that nobody gave leaves "none of these", and is one of several labels that it could be.
    """
    of_others = spread_unsaid(answers, truth)  # (item, response)
    label, items = pt.maximum(control, 0), pt.arange(control.shape[0])
    was_said = answers.index["possible"][items, label] > 0
    state = pt.switch(was_said, label, answers.n_responses)[:, None]
    here = pt.eq(pt.arange(answers.n_responses + 1)[None, :], state)
    weight = pt.switch(was_said, 1.0, of_others[items, label])[:, None]
    return pt.switch((control < 0)[:, None], logp, pt.switch(here, logp + pt.log(weight), -np.inf))


def label_posterior(answers: Answers, probability: pt.TensorVariable, truth: pt.TensorVariable) -> pt.TensorVariable:
    """Return the posterior of the true label, "none of these" spread over the others; (item, response)."""
    n_labels = answers.n_responses
    spread = spread_unsaid(answers, truth)
    if answers.control is not None:
        known = pt.eq(pt.arange(n_labels)[None, :], answers.control[:, None]) * 1.0
        spread = pt.switch((answers.control >= 0)[:, None], known, spread)
    return probability[:, :n_labels] + probability[:, n_labels][:, None] * spread
