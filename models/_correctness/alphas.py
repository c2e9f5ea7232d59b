"""How likely the wrong ones are to agree as they do: model A's sums over labels, symbolic.

Symbols and equations are in the card of `bayesanno.models.model_a`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.ground.lazy import pt
from bayesanno.models._correctness.blocks import MOST
from bayesanno.models._correctness.recurrence import distinct_sums

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.modeling.arguments import Answers, Parameters


def alpha_and_d(answers: Answers, p: Parameters, *, normalised: bool) -> tuple[TensorVariable, TensorVariable]:
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


def truth_frequency(p: Parameters) -> TensorVariable:
    """Return how frequent each true label is: omega, or its mean over annotations; shape (response,)."""
    share = p.get("share")
    return p.frequency if share is None else (share[:, None] * p.frequency).sum(axis=0)


def pooled_shares(data: AnnotationData) -> np.ndarray:
    """Return the share of each label among all annotations, (response,), for omega.

    Raises
    ------
    DataError
        If all annotations have the same label.
    """
    shares = np.bincount(data.label, minlength=data.n_labels) / data.n_annotations
    if (shares > 0).sum() < 2:
        raise DataError(
            f"every annotation says {data.labels[int(shares.argmax())]!r}: with frequency='empirical' nobody could be "
            "wrong; learn the frequencies (frequency='shared'), or leave these items out"
        )
    return shares
