"""Shares of a label as annotators give it, and corrected by how often they err on items with known labels.

With the share pi of a label, annotator j gives it to an item of it with probability se_j, and to another with 1 - sp_j:

    P(j gives the label)  =  pi se_j + (1 - pi) (1 - sp_j)

so that pi = (share given + sp - 1) / (se + sp - 1) (Rogan and Gladen 1978). Here it is a posterior in [0, 1]. se_j and
sp_j have Jeffreys priors and are drawn given the items with known labels alone; in each draw pi has the prior Beta(1/2,
1/2), and the likelihood of all answers to each item, independent given its class, with the class summed out.

References
----------
W. J. Rogan and B. Gladen (1978), Estimating prevalence from the results of a screening test, American Journal of
Epidemiology 107(1), 71-76, doi:10.1093/oxfordjournals.aje.a112510.
"""

from __future__ import annotations

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import count_cells

N_DRAWS = 4000
GRID = np.sin((np.arange(200) + 0.5) / 200 * np.pi / 2) ** 2  # equally probable by Beta(1/2, 1/2)


def draw_judged(data: AnnotationData, positive: int, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the shares of a label among answers, (draw, group); each item counts once, with the share of its answers.

    `codes`, (item,), are the groups of items. Labels are classes.
    """
    given = np.bincount(data.item, data.label == positive, data.n_items)
    n = np.bincount(data.item, minlength=data.n_items)
    items = np.bincount(codes[n > 0], minlength=codes.max() + 1)
    hits = np.bincount(codes, given / np.maximum(n, 1), codes.max() + 1)
    return rng.beta(hits + 0.5, items - hits + 0.5, size=(N_DRAWS, items.size))


def draw_corrected(
    data: AnnotationData, positive: int, codes: np.ndarray, known: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw the corrected shares, (draw, group), from all annotators; by the prior in a group without answers.

    `known`, (item,), are classes of items with known labels, -1 for all others; other arguments as in `draw_judged`.
    """
    says = data.label == positive
    checked = known[data.item] >= 0
    cell = 2 * (known[data.item] == positive) + says
    counts = count_cells(data.annotator[checked], cell[checked], (data.n_annotators, 4)) + 0.5
    size = N_DRAWS, data.n_annotators
    yes = np.stack([rng.beta(counts[:, 2 * true + 1], counts[:, 2 * true], size) for true in (0, 1)])
    log_p = np.log(np.stack([1 - yes, yes]).clip(1e-12))  # (answer, true, draw, annotator)
    given = count_cells(data.item, 2 * data.annotator + says, (data.n_items, 2 * data.n_annotators))
    used = given.any(axis=1)
    of_answer = log_p.transpose(1, 2, 3, 0).reshape(2, N_DRAWS, -1)  # (true, draw, annotator * answer)
    found = rng.beta(0.5, 0.5, size=(N_DRAWS, codes.max() + 1))
    for group in np.unique(codes[used]):
        patterns, times = np.unique(given[used & (codes == group)], axis=0, return_counts=True)
        for rows in np.array_split(np.arange(N_DRAWS), 1 + N_DRAWS * GRID.size * len(times) // 10_000_000):
            other, own = of_answer[:, rows] @ patterns.T  # (draw, pattern)
            ratio = np.exp((own - other).clip(-500, 500))
            log_share = sum(
                n * np.log1p(GRID * (one[:, None] - 1)) for n, one in zip(times, ratio.T, strict=True)
            )  # (draw, point)
            weight = np.exp(log_share - log_share.max(axis=1, keepdims=True)).cumsum(axis=1)
            at = (weight < rng.random((rows.size, 1)) * weight[:, -1:]).sum(axis=1)
            found[rows, group] = GRID[at]
    return found
