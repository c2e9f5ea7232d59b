"""How likely the wrong ones are to agree as they do, and whose label is the truth: model A's sums over labels, symbolic.

Symbols and equations are in the card of `bayesanno.models.model_a`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.lazy import pt
from bayesanno.models._correctness.blocks import MOST
from bayesanno.models._correctness.recurrence import distinct_sums

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.modeling.observations import Answers


def alpha_and_d(
    answers: Answers, frequency: TensorVariable, share: TensorVariable | None, *, normalised: bool
) -> tuple[TensorVariable, TensorVariable]:
    """Return alpha and D of every set of blocks, by their sizes, or by their members where annotators draw differently.

    Parameters
    ----------
    answers : Answers
    frequency : TensorVariable, shape (response,) or (annotator, response)
        Omega.
    share : TensorVariable, shape (annotator,), or None
        The share of annotations that each annotator gave; None where all draw alike.
    normalised : bool
        Whether wrong annotators draw from omega without the truth.
    """
    index, n_labels = answers.index, answers.n_responses
    drawn = frequency if frequency.ndim == 2 else frequency[None, :]  # (annotator or 1, response)
    wrong = drawn[:, None, :] * (1 - pt.eye(n_labels))  # (annotator, truth, response)
    if normalised:
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
    alpha = sums[:, :n_labels] @ truth_frequency(frequency, share)
    return (alpha if normalised else index["coincide"] @ alpha), sums[:, n_labels]


def truth_frequency(frequency: TensorVariable, share: TensorVariable | None) -> TensorVariable:
    """Return how frequent each true label is: omega, or its mean over annotations; shape (response,)."""
    return frequency if share is None else share @ frequency


def spread_unsaid(answers: Answers, frequency: TensorVariable, share: TensorVariable | None) -> TensorVariable:
    """Return each label's share of "none of those said": in proportion to its frequency; shape (item, response)."""
    truth = truth_frequency(frequency, share)
    unsaid = truth * (1 - answers.index["possible"][:, : answers.n_responses])
    total = unsaid.sum(axis=1, keepdims=True)
    return unsaid / pt.switch(total > 0, total, 1.0)
