"""Tables of ratings on a scale: the value of each item, and how reliable ratings are.

References
----------
P. E. Shrout and J. L. Fleiss (1979), Intraclass correlations: uses in assessing rater reliability, Psychological
Bulletin 86:420-428, doi:10.1037/0033-2909.86.2.420.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesanno._core.intervals import choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError
from bayesanno._core.validate import check_at_least
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import Fit, FitPart, concat_parts, require
from bayesanno.modeling.arguments import QUANTILE, interval_of, require_latents


def value_table(fit: Fit, *, ci_prob: float | None = None) -> pd.DataFrame:
    """Return the value of each item, from ratings on a scale.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of `rating`.
    ci_prob : float, optional
        The probability of the intervals; by default ArviZ's `stats.ci_prob`.

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`; `value`, the posterior mean of the true value, with `sd` and the
        interval `eti89_lb` and `eti89_ub`, which is that of the mixture over all draws; `expected`, the rating that an
        annotator of the panel is expected to give, which is on the scale, and is what a mean of ratings is compared
        with; `n_ratings` and `mean_rating`; and `gold`, the known true value, if any is known.

    Raises
    ------
    FitError
        If the model gives no values.
    DataError
        If there is no such interval.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("sliders")  # doctest: +SKIP
    >>> ba.value_table(fit).sort_values("value").head(3)  # doctest: +SKIP
    """
    prob = choose_prob(ci_prob)
    view = view_for_table(fit)

    def tabulate(part: FitPart) -> pd.DataFrame:
        table, ends = part.tabulate(), interval_of(part.latent[QUANTILE].values, prob)
        return pd.concat(
            [
                table[["item", "value", "sd"]].assign(**dict(zip(name_bounds("eti", prob), ends, strict=True))),
                table.drop(columns=["item", "value", "sd"]),
            ],
            axis=1,
        )

    return concat_parts(require(view, "values", "value_table"), tabulate)


def reliability_table(fit: Fit, *, k: float | None = None, ci_prob: float | None = None) -> pd.DataFrame:
    """Return how reliable ratings are: intraclass correlations, also of tables with gaps.

    With the variance of true values v, of biases b and of noise e:

        ICC(2,1) = v / (v + b + e)       of one rating, by any annotator: absolute agreement
        ICC(2,k) = v / (v + (b + e) / k) of the mean of k ratings, each by another annotator
        ICC(3,1) = v / (v + e)           the same without biases: consistency
        ICC(3,k) = v / (v + e / k)

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of `rating`.
    k : float, optional
        The number of ratings in a mean; by default the mean number of an item's ratings.
    ci_prob
        As in `value_table`.

    Returns
    -------
    pandas.DataFrame
        A row for each coefficient, of this panel of annotators and of the population that they come from: `of`,
        "panel" or "population"; `coefficient`; `k`; `mean`, `sd`, `eti89_lb` and `eti89_ub`.

    Raises
    ------
    FitError
        If the model gives no values.
    DataError
        If k is below 1, or there is no such interval.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("sliders")  # doctest: +SKIP
    >>> ba.reliability_table(fit).query("of == 'panel'")  # doctest: +SKIP
    """
    view = view_for_table(fit)
    require_latents(view.model, view.named_data, "values", "reliability_table")
    rated = view.data.by_item
    n = float(rated[rated > 0].mean()) if k is None else float(k)
    check_at_least("k", n, 1, FitError)
    p: Any = view.posterior
    by_one = max(1, p.sizes["annotator"] - 1)
    slope, slope_spread = p.get("slope", xr.ones_like(p["sd"])), p.get("slope_spread", xr.zeros_like(p["spread"]))
    noise = np.exp(2 * np.log(p["typical_sd"]) + 2 * p["sd_spread"] ** 2)
    parts: dict[str, tuple[Any, Any, Any]] = {  # the mean square of slopes, and the variances of biases and of noise
        "panel": (
            (slope**2).mean("annotator"),
            (p["bias"] ** 2).sum("annotator") / by_one,
            (p["sd"] ** 2).mean("annotator"),
        ),
        "population": (1 + slope_spread**2, p["bias_spread"] ** 2, noise),
    }
    rows = []
    for of, (stretch, bias, noise) in parts.items():
        variance = stretch * p["spread"] ** 2
        for name, error in (("2", bias + noise), ("3", noise)):
            for size, count in (("1", 1.0), ("k", n)):
                drawn = variance / (variance + error / count)
                described = {what: values.item() for what, values in describe_draws(drawn, ci_prob).items()}
                rows.append({"of": of, "coefficient": f"ICC({name},{size})", "k": count} | described)
    return pd.DataFrame(rows)
