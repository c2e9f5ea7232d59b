"""Shares near 0 or 1, as samplers see them: through the normal distribution function instead of the logistic one.

A share that the data only bound from below, as the competence of those who never err, has a long tail on the log-odds
scale, and there are as many such tails as annotators. On the probit scale the tail of a Beta is that of a normal.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.lazy import pm, pt

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

_LEAST = 1e-15  # how near to 0 and 1 a share comes: nearer, 1 - share is 0 in double precision


def beta_by_probit(name: str, prior: TensorVariable, *, dims: str) -> TensorVariable:
    """Declare a parameter with a Beta prior that is sampled on the probit scale.

    Parameters
    ----------
    name, dims : str
    prior : TensorVariable, shape (2,)
        The two concentrations.
    """
    return pm.Beta(name, prior[0], prior[1], dims=dims, default_transform=_transform_to_probit()())


@cache
def _transform_to_probit() -> Any:
    from pymc.distributions.transforms import Transform

    class Probit(Transform):  # type: ignore[misc]  # PyMC is not seen by the type checker
        """Between (0, 1) and the line."""

        name = "probit"

        def forward(self, value: TensorVariable, *_: Any) -> TensorVariable:
            tail = pt.minimum(value, 1 - value)  # small, and so with all its digits
            return pt.sign(value - 0.5) * np.sqrt(2) * pt.erfcinv(2 * tail)

        def backward(self, value: TensorVariable, *_: Any) -> TensorVariable:
            return pt.clip(0.5 * pt.erfc(-value / np.sqrt(2)), _LEAST, 1 - _LEAST)

        def log_jac_det(self, value: TensorVariable, *_: Any) -> TensorVariable:
            return -0.5 * (value**2 + np.log(2 * np.pi))

    return Probit
