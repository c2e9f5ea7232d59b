"""Shares near 0 or 1, as samplers see them: through the normal distribution function instead of the logistic one.

A share that the data only bound from below, as the competence of those who never err, has a long tail on the log-odds
scale, and there are as many such tails as annotators. On the probit scale the tail of a Beta is that of a normal.

The invariant: the density is that of the share before it is rounded. Only what is made of the share sees the rounding.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.ground.lazy import pm, pt

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

_LEAST = 1e-15  # how near to 0 and 1 a share comes: nearer, 1 - share is 0 in double precision


def beta_by_probit(name: str, prior: TensorVariable, *, dims: str | tuple[str, ...]) -> TensorVariable:
    """Declare a parameter with a Beta prior that is sampled on the probit scale.

    Parameters
    ----------
    name : str
    dims : str or tuple of str
    prior : TensorVariable, shape (2,)
        The two concentrations.

    Examples
    --------
    >>> import pymc as pm
    >>> import pytensor.tensor as pt
    >>> from bayesanno.modeling.ops.probit import beta_by_probit
    >>> with pm.Model(coords={"annotator": ["ada", "bo"]}) as graph:
    ...     competence = beta_by_probit("competence", pt.as_tensor([0.5, 0.5]), dims="annotator")
    >>> graph.value_vars
    [competence_probit__]
    """
    return pm.Beta(name, prior[0], prior[1], dims=dims, default_transform=_transform_to_probit()())


@cache
def _transform_to_probit() -> Any:
    from bayesanno.ground.private.pymc import Transform

    class Probit(Transform):  # type: ignore[misc]  # PyMC is not seen by the type checker
        """Between (0, 1) and the line, for a Beta."""

        name = "probit"

        def forward(self, value: TensorVariable, *_: Any) -> TensorVariable:
            tail = pt.minimum(value, 1 - value)  # small, and so with all its digits
            return pt.sign(value - 0.5) * np.sqrt(2) * pt.erfcinv(2 * tail)

        def backward(self, value: TensorVariable, *_: Any) -> TensorVariable:
            return pt.clip(0.5 * pt.erfc(-value / np.sqrt(2)), _LEAST, 1 - _LEAST)

        def log_jac_det(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
            """Return log |d share / d value|, and what rounding the share took from the density of the Beta."""
            alpha, beta = inputs[-2:]
            low, share = value < 0, self.backward(value)
            log_tail = pt.log(pt.erfcx(pt.switch(low, -value, value) / np.sqrt(2)) / 2) - value**2 / 2  # exact
            lost = log_tail - pt.log(pt.switch(low, share, 1 - share))  # next to nothing, unless near 0 or 1
            return -0.5 * (value**2 + np.log(2 * np.pi)) + (pt.switch(low, alpha, beta) - 1) * lost

    return Probit
