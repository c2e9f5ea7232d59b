"""One view of a fit: its model, data, posterior and diagnostics, each read from the tree once.

The invariant: a view is of one tree and says what that tree holds. It is made where a user hands in a fit, passed down,
and gone with the call; nothing is remembered between calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bayesanno.fits.storage import (
    data_of,
    diagnostics_of,
    is_on_dask,
    model_of,
    read_by_dimension,
    refuse_items,
    require_fit,
    require_tree,
    totals_of,
)
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.capabilities import known_parameters

LATENT, LABELS = "latent", "labels"  # the groups of the posterior by the model, and of what tables read in its place
ADJUSTMENT = "adjustment"  # the group of a fit whose labels were adjusted for correlated errors
RECALIBRATION = "recalibration"  # the group, and the attribute, of a fit whose labels were recalibrated
Yields = Literal["mcmc", "approximation", "point", "combination"]


@dataclass(frozen=True, eq=False)
class FitView:
    """A fit as the rooms above read it.

    Parameters
    ----------
    tree : xarray.DataTree
        The fit itself.
    """

    tree: xr.DataTree

    @cached_property
    def model(self) -> AnnotationModel:
        """The model, with its priors."""
        return model_of(self.tree)

    @cached_property
    def data(self) -> Any:
        """The data: of the class that the model is of."""
        return data_of(self.tree)

    @cached_property
    def named_data(self) -> Any:
        """The data, or of a fit that holds none what is known of the whole of them: who annotated, and how much."""
        return totals_of(self.tree) if is_on_dask(self.tree) else self.data

    @cached_property
    def posterior(self) -> xr.Dataset:
        """The draws of the parameters, dims (chain, draw, ...)."""
        return self._group("posterior")

    @cached_property
    def latents(self) -> dict[str, xr.Dataset]:
        """The posterior of the items' states, and what else is read off, by dimension; "" where there are none."""
        require_fit(self.tree)
        if is_on_dask(self.tree):
            refuse_items()
        return read_by_dimension(self.tree, LATENT)

    @cached_property
    def labels(self) -> dict[str, xr.Dataset]:
        """The same with the probabilities that tables read: adjusted for correlated errors, recalibrated, or as is."""
        found = dict(self.latents)
        for dimension, own in read_by_dimension(self.tree, LABELS).items() if self.is_adjusted else ():
            found[dimension] = found[dimension].drop_vars("probability_mcse", errors="ignore").assign(own.data_vars)
        return found

    @property
    def latent(self) -> xr.Dataset:
        """What `labels` has of a fit without dimensions."""
        return self.labels[""]

    @cached_property
    def known(self) -> dict[str, np.ndarray]:
        """The known parameters of the model."""
        constant = self._group("constant_data")
        return {name: constant[name].values for name in known_parameters(self.model, self.data)}

    @cached_property
    def yields(self) -> Yields:
        """What the method of fitting yields: draws of chains, of an approximation, or one point."""
        require_fit(self.tree)
        return self.tree.attrs["yields"]

    @property
    def is_adjusted(self) -> bool:
        """Whether the labels were adjusted for what the check of the fit found, or recalibrated."""
        return LABELS in self.tree.children

    @property
    def is_recalibrated(self) -> bool:
        """Whether the labels were recalibrated by known ones: they no longer follow from the draws alone."""
        return RECALIBRATION in self.tree.children

    @cached_property
    def convergence(self) -> xr.Dataset | None:
        """R-hat and ESS of each variable of the posterior, dims ("diagnostic", ...); None where there are no chains.

        The diagnostics are "ess_bulk", "ess_tail" and "r_hat", which is nan of one chain.
        """
        return self.tree["convergence"].to_dataset() if "convergence" in self.tree.children else None

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """What `diagnostics_of` gives."""
        return diagnostics_of(self.tree)

    def _group(self, name: str) -> xr.Dataset:
        if name not in self.tree.children:
            require_fit(self.tree)  # says what is missing
        return self.tree[name].to_dataset()


def view_of(fit: xr.DataTree | FitView) -> FitView:
    """Return a view of a fit, or the view itself.

    Raises
    ------
    FitError
        If this is no tree at all; and when what is missing is first read, if this is not a fit by bayesanno.
    """
    if isinstance(fit, FitView):
        return fit
    require_tree(fit)
    return FitView(fit)


def require_as_fitted(view: FitView, what: str) -> None:
    """Raise a FitError if a fit was recalibrated: `what`, as a function's name, makes new labels from draws."""
    if view.is_recalibrated:
        raise FitError(
            f"this fit was recalibrated, and {what} computes labels from the draws again: give it the fit as it was, "
            "and recalibrate what comes out"
        )
