"""Labels against votes: whether most items have another label than most of their annotators gave them.

That may be right, where most annotators are wrong. It is also what a mode looks like in which classes have swapped
names, or in which a few annotators who answer alike are taken for the truth; R-hat does not show it where all chains
are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.data.annotations import AnnotationData

if TYPE_CHECKING:
    import xarray

AGREES = 0.6  # with the vote on fewer of the items, labels are said to be against it
FEWEST = 10  # items that have a vote: of fewer, a share says little


def explain_votes(data: object, latent: xarray.Dataset) -> list[str]:
    """Say so where the most probable labels are not those of most annotators.

    Parameters
    ----------
    data : AnnotationData or another kind of data, of which nothing is said
    latent : xarray.Dataset
        Of a fit: `probability` (item, true_class).

    Returns
    -------
    list of str
    """
    if not isinstance(data, AnnotationData) or "true_class" not in latent["probability"].dims:
        return []
    shares, probability = data.class_shares, latent["probability"].transpose("item", "true_class").values
    first, second = np.sort(shares, axis=1)[:, :-3:-1].T
    voted = (first > second) & (data.control_codes < 0)
    n_items = int(voted.sum())
    n_equal = int((shares.argmax(axis=1) == probability.argmax(axis=1))[voted].sum())
    if n_items < FEWEST or n_equal >= AGREES * n_items:
        return []
    return [
        f"the labels are those of most annotators for {n_equal} of {n_items} items only ({n_equal / n_items:.0%}): "
        "either most annotators are wrong, or classes have swapped names, or a few who answer alike are taken for the "
        "truth; compare with the labels of another model (one_coin, model_b), or let known labels decide (controls)"
    ]
