"""Effects of item columns on the class, from a fit with a class prior."""

from __future__ import annotations

from itertools import product

import numpy as np

from bayesanno._core.chains import DIAGNOSTICS
from bayesanno._core.intervals import CiKind
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError
from bayesanno.analysis.parameters import convergence_of, describe_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.columns import SLOPE, Classifier, Columns


def coefficient_table(
    fit: xr.DataTree | FitView, *, ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return the effects of item columns on the log odds of each class.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of a model whose class prior has `Columns` or a `Classifier`.
    ci_prob, ci_kind
        As in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row per effect, level and class: `effect` (a term of the formula, or `slope` for a classifier); `level` (for
        categorical columns; several are joined by " | "); `true_class`; `mean`, `sd`, `eti89_lb`, `eti89_ub`,
        `ess_bulk`, `ess_tail` and `r_hat`. Effects are on the log-odds scale. The effect of a numeric column is that of
        one standard deviation among the items of the fit.

    Raises
    ------
    FitError
        If the model has no such class prior.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("by_system")  # doctest: +SKIP
    >>> ba.coefficient_table(fit).query("effect == 'system'")  # doctest: +SKIP
    """
    view = view_for_table(fit, from_draws=True)
    names = _list_effects(view)
    if not names:
        raise FitError(
            f"this fit of {view.model.name} has no effects of columns: fit with class_prior=Columns(...), or a "
            "Classifier"
        )
    return pd.concat([_describe(view, name, ci_prob, ci_kind) for name in names], ignore_index=True)


def has_effects(view: FitView) -> bool:
    """Whether item columns have effects in a fit."""
    return bool(_list_effects(view))


def _list_effects(view: FitView) -> list[str]:
    terms = terms_of(view.model)
    names = [effect.name for term in terms if isinstance(term, Columns) for effect in term.effects]
    return names + [SLOPE for term in terms if isinstance(term, Classifier)]


def _describe(view: FitView, name: str, ci_prob: float | None, ci_kind: CiKind) -> pd.DataFrame:
    draws = view.posterior[name].transpose("chain", "draw", ...)
    rows = list(product(*(draws[dim].values.tolist() for dim in draws.dims[2:])))  # levels, and the class at the end
    found = describe_draws(draws, ci_prob, ci_kind)
    found |= dict(zip(DIAGNOSTICS, convergence_of(view, name).values, strict=True))
    names = {"level": [" | ".join(row[:-1]) for row in rows], "true_class": ["".join(row[-1:]) for row in rows]}
    table = pd.DataFrame({"effect": [name] * len(rows), **names}, dtype="str")
    return table.assign(**{what: np.ravel(values) for what, values in found.items()})
