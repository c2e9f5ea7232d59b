"""What a model whose annotations are independent given the class says of answers: arithmetic with its two tables.

Other models are asked by their compiled formula and generative process, which give the same; see `quantities` and
`replicate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bayesanno.ground.draw import draw_codes
from bayesanno.ground.lazy import xr
from bayesanno.modeling.arguments import Parameters
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import log_classes_of_items
from bayesanno.modeling.functions import stack_samples
from bayesanno.modeling.independent import IndependentAnswers


def has_law(model: AnnotationModel) -> bool:
    """Return whether all that a model says of answers follows from its law: no other formula takes its place."""
    return isinstance(model, IndependentAnswers) and type(model).state_logp is IndependentAnswers.state_logp


def each_law(
    model: AnnotationModel, data: Any, draws: xr.Dataset, known: Mapping[str, np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield p(class) and p(answer | annotator, class) of each draw, (true_class,) or (item, ...) and (annotator, ...).

    The second is of shape (annotator, response, true_class).
    """
    assert isinstance(model, IndependentAnswers)
    flat, of_items = stack_samples(draws), log_classes_of_items(model, data, draws)
    for sample in range(draws.sizes["chain"] * draws.sizes["draw"]):
        p = Parameters({name: array[sample] for name, array in flat.items()} | dict(known))
        of_class, of_answer = model.law(p, data.names_class.T)
        if of_items is not None:
            of_class = np.exp(next(of_items))
        yield of_class, np.broadcast_to(of_answer, (data.n_annotators, *of_answer.shape[1:]))


def join_answers(of_class: np.ndarray, of_answer: np.ndarray, who: np.ndarray) -> np.ndarray:
    """Return p(class, answer) if each group of annotators (group, annotator) gives an item of its own the same answer.

    Shape (group, response, true_class). Where the prior of the class depends on the item, it is the mean.
    """
    prior = of_class.mean(axis=0) if of_class.ndim == 2 else of_class
    return prior * of_answer[who].prod(axis=1)


def draw_answers(
    of_class: np.ndarray, of_answer: np.ndarray, design: Any, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the answers of a design, (annotation,), and the classes of its items, (item,), which controls keep."""
    known = design.control_codes
    drawn = draw_codes(np.broadcast_to(of_class, (design.n_items, of_class.shape[-1])), rng)
    true_class = np.where(known >= 0, known, drawn)
    return draw_codes(of_answer[design.annotator, :, true_class[design.item]], rng), true_class
