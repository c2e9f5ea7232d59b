"""A cheaper log-Jacobian for probabilities that add up to 1, in the coordinates that PyMC gives them.

PyMC computes it by a softmax of its own. With p = softmax(y), y_K = -(y_1 + ... + y_{K-1}), it is log K + sum log p_k,
and the log p_k are computed for the prior and the likelihood anyway: PyTensor merges the two when both are written the
same way. Values, draws and names of the variables are as without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytensor.tensor as pt
from pymc.logprob.transforms import SimplexTransform

if TYPE_CHECKING:
    import pymc as pm


class SharedSimplexTransform(SimplexTransform):  # type: ignore[misc]  # PyMC is not typed
    """PyMC's transform, its log-Jacobian written so that it shares the softmax of `backward`."""

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return log K + sum_k log p_k, with log p as PyTensor writes the logarithm of a softmax."""
        value = pt.as_tensor(value)
        whole = pt.concatenate([value, -pt.sum(value, -1, keepdims=True)], axis=-1)  # (..., K)
        shifted = whole - pt.max(whole, -1, keepdims=True)
        log_p = shifted - pt.log(pt.sum(pt.exp(shifted), -1, keepdims=True))
        return pt.log(whole.shape[-1].astype(value.dtype)) + pt.sum(log_p, -1)


def share_softmax(model: pm.Model) -> None:
    """Give every variable of a model that lives on a simplex the cheaper transform."""
    for variable, transform in model.rvs_to_transforms.items():
        if type(transform) is SimplexTransform:
            model.rvs_to_transforms[variable] = SharedSimplexTransform()
