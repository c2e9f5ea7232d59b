"""Expected histograms of successes under each draw of a model of item types, and distances of histograms from them."""

from __future__ import annotations

import numpy as np

from bayesanno.agreement.histograms import log_binomial_coefficients
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.counts import CountData
from bayesanno.data.labelled import divide
from bayesanno.modeling.posterior import compile_formula
from bayesanno.simulation.quantities import ModelDraws, ask


def expected_by_type(drawn: ModelDraws) -> np.ndarray:
    """Return the expected number of items of each type with 0, 1, 2, ... successes under each draw, (draw, type, bin).

    All items have the same number of trials.
    """
    trials = int(drawn.data.trials[0])
    bins = np.arange(trials + 1)
    every = CountData(items=tuple(map(str, bins)), successes=bins, trials=np.full_like(bins, trials))
    logs = np.array(list(compile_formula(*drawn._replace(data=every)).log_joint()))  # (draw, bin, type)
    joint = np.exp(logs.swapaxes(1, 2) + log_binomial_coefficients(trials))
    return drawn.data.n_items * joint / joint.sum(axis=(1, 2), keepdims=True)  # removes rounding errors


def expected_of_annotators(drawn: ModelDraws, *, items: np.ndarray, label: int) -> np.ndarray:
    """Return the expected number of items of each type with 0, 1, 2, ... answers of one label, under each draw.

    The model has annotators who answer independently given the type of the item. So the number of answers with the
    label is Poisson-binomial, with one probability for each annotator who answered.

    Parameters
    ----------
    items : array of int, shape (item,)
        The items, all with the same number of answers.
    label : int
        The label to count.

    Returns
    -------
    array, shape (draw, type, bin)
    """
    weight, rate = _find_rates(drawn, label)  # (draw, type), (draw, annotator, type)
    data: AnnotationData = drawn.data
    rows = np.isin(data.item, items)  # (annotation,)
    who = data.annotator[rows][np.argsort(data.item[rows], kind="stable")].reshape(items.size, -1)  # (item, answer)
    groups, n = np.unique(np.sort(who, axis=1), axis=0, return_counts=True)
    expected = np.zeros((*weight.shape, who.shape[1] + 1))
    for group, many in zip(groups, n, strict=True):
        chance = np.zeros_like(expected)  # the probability of each number of answers
        chance[..., 0] = 1
        for annotator in group:
            positive = rate[:, annotator, :, None]
            chance[..., 1:] = chance[..., 1:] * (1 - positive) + chance[..., :-1] * positive
            chance[..., :1] *= 1 - positive
        expected += many * chance
    return weight[:, :, None] * expected


def _find_rates(drawn: ModelDraws, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of each type (draw, type), and how often annotators give the label (draw, annotator, type)."""
    who = np.arange(drawn.data.n_annotators)
    joint = np.array(list(ask(drawn, who[:, None])))  # (draw, annotator, response, type)
    weight = joint[:, 0].sum(axis=1)
    rate = divide(joint[:, :, label], weight[:, None])
    return weight, np.clip(np.nan_to_num(rate), 0, 1)
