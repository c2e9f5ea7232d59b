"""A view of a fit: its model, data, posterior and diagnostics, each read from the tree once.

The invariant: a view reflects one tree. It is made where a user passes in a fit, handed down, and discarded at the end
of the call; nothing is kept between calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bayesanno._core.errors import FitError
from bayesanno._core.lazy import xr
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
from bayesanno.modeling.base import AnnotationModel

LATENT = "latent"  # the group with the model's posterior of items
LABELS = "labels"  # the group with adjusted or recalibrated probabilities of labels
CHECK = "check"  # the group with the adjustment that the check of a fit suggests
ADJUSTMENT = "adjustment"  # the group, and the attribute, of a fit whose labels were adjusted by its check
RECALIBRATION = "recalibration"  # the group, and the attribute, of a fit whose labels were recalibrated
Yields = Literal["mcmc", "approximation", "point", "combination"]


type Fit = xr.DataTree | FitView  # what functions of fits take


@dataclass(frozen=True, eq=False)
class FitView:
    """A fit as the subpackages above read it.

    Parameters
    ----------
    tree : xarray.DataTree
        The fit.
    """

    tree: xr.DataTree

    @cached_property
    def model(self) -> AnnotationModel:
        """The model, with its priors."""
        return model_of(self.tree)

    @cached_property
    def data(self) -> Any:
        """The data, of the class that the model takes."""
        return data_of(self.tree)

    @cached_property
    def named_data(self) -> Any:
        """The data, or, for a fit that holds none, their totals: the annotators and their numbers of annotations."""
        return totals_of(self.tree) if is_on_dask(self.tree) else self.data

    @cached_property
    def posterior(self) -> xr.Dataset:
        """The draws of the parameters, dims (chain, draw, ...)."""
        return self._group("posterior")

    @cached_property
    def latents(self) -> dict[str, xr.Dataset]:
        """The posterior of the items' states, and quantities derived from it, by dimension; "" without dimensions."""
        require_fit(self.tree)
        if is_on_dask(self.tree):
            refuse_items()
        return read_by_dimension(self.tree, LATENT)

    @property
    def has_population(self) -> bool:
        """Whether the model learns a population of annotators, from which new ones can be drawn."""
        return self.model.overrides("draw_annotators")

    @property
    def has_severity(self) -> bool:
        """Whether the annotators of the model have a severity, and noise of their own, in grades."""
        return "severity" in self.posterior

    def derives(self, name: str) -> bool:
        """Whether the model derives a quantity of items or annotations of this name."""
        return not is_on_dask(self.tree) and any(name in latent for latent in self.latents.values())

    @cached_property
    def known(self) -> dict[str, np.ndarray]:
        """The fixed parameters of the model; models that are fitted on Dask have none."""
        if is_on_dask(self.tree):
            return {}
        constant = self._group("constant_data")
        return {name: constant[name].values for name in self.model.fixed_parameters(self.data)}

    @cached_property
    def yields(self) -> Yields:
        """What the method yields: draws from chains, draws from an approximation, or a point estimate."""
        require_fit(self.tree)
        return self.tree.attrs["yields"]

    @property
    def is_adjusted(self) -> bool:
        """Whether the labels were adjusted by the check of the fit."""
        return ADJUSTMENT in self.tree.children

    @property
    def is_recalibrated(self) -> bool:
        """Whether the labels were recalibrated with known ones, so that they do not depend on the draws alone."""
        return RECALIBRATION in self.tree.children

    @cached_property
    def convergence(self) -> xr.Dataset | None:
        """R-hat and ESS of each variable of the posterior, dims ("diagnostic", ...); None without chains.

        The diagnostics are "ess_bulk", "ess_tail" and "r_hat", which is nan for a single chain.
        """
        return self.tree["convergence"].to_dataset() if "convergence" in self.tree.children else None

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """The result of `diagnostics_of`."""
        return diagnostics_of(self.tree)

    def _group(self, name: str) -> xr.Dataset:
        if name not in self.tree.children:
            require_fit(self.tree)  # its error names what is missing
        return self.tree[name].to_dataset()


def view_of(fit: xr.DataTree | FitView) -> FitView:
    """Return a view of a fit, or the view itself.

    Raises
    ------
    FitError
        If the value is not a tree. If the tree is not a fit by bayesanno, the error comes when missing parts are read.
    """
    if isinstance(fit, FitView):
        return fit
    require_tree(fit)
    return FitView(fit)


def require_as_fitted(fit: xr.DataTree | FitView, what: str) -> FitView:
    """Return a view of a fit, or raise a FitError if it was recalibrated: the function `what` reads its draws."""
    view = view_of(fit)
    if view.is_recalibrated:
        raise FitError(
            f"this fit was recalibrated, but {what} computes labels from the draws: give it the original fit, and "
            "recalibrate the result"
        )
    return view
