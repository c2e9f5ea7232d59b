"""Draws from categorical distributions."""

from __future__ import annotations

import numpy as np


def draw_codes(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw codes (...) in proportion to weights (..., code), which need not add up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno._core.draw import draw_codes
    >>> draw_codes(np.array([[0.0, 3.0], [1.0, 0.0]]), np.random.default_rng(1)).tolist()
    [1, 0]
    """
    below = weights.cumsum(axis=-1, dtype=float)
    at = rng.uniform(size=(*weights.shape[:-1], 1)) * below[..., -1:]
    return (at >= below[..., :-1]).sum(axis=-1)
