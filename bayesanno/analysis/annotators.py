"""Annotators: their competence, whether it is better than chance, and comparisons of two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesanno._core.chains import DIAGNOSTICS
from bayesanno._core.intervals import CiKind
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError, as_names
from bayesanno.analysis.parameters import convergence_of, describe_draws, require_draws
from bayesanno.analysis.ranking import prefer_first
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import divide
from bayesanno.fits.view import FitPart, FitView, concat_parts, find_positions, part_of, parts_of
from bayesanno.inference.diagnosis.findings import MARGIN, measure_above


def annotator_table(
    fit: xr.DataTree | FitView, *, worst_first: bool = False, ci_prob: float | None = None, ci_kind: CiKind = None
) -> pd.DataFrame:
    """Return the posterior of each annotator's competence, as the model defines it.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    worst_first : bool, default False
        Whether those who are most probably no better than chance come first, instead of the data's order.
    ci_prob, ci_kind
        As in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row per annotator, in the data's order: `annotator`, `n_annotations`, where any true label is known `n_gold`
        (answers to such items) and `gold_agreement` (the share of these that are right; an unsure answer is not right),
        and `competence_` with each of `mean`, `sd`, `eti89_lb`, `eti89_ub`, `ess_bulk`, `ess_tail` and `r_hat`. The
        last three require Markov chains; a point estimate, such as EM's, has only the mean. If some labels are not
        classes ("unsure"), the column `unsure` gives their share among the annotator's annotations. Models of grades
        add the same columns for `severity_`, which is positive for severe annotators, and for `sd_`, both in grades.
        `rating` adds them for `bias_` and `sd_`, in points of the scale, and with `slope=True` for `slope_`.
        Comparisons (`class_prior=Pairs(...)`) add `prefers_first_` with `mean`, `sd` and interval, the position bias:
        how much more often an annotator says that the first is better than the second, where each is better equally
        often. It is 0 without a preference, 1 if the answer is always the first, and -1 if always the second.

        All other models have `p_chance`, the probability that the annotator is no better than chance: the answers
        depend on the true label by no more than a tenth of what a perfect annotator's do. So a coin is no better, nor
        is the same label for every item, even where that is mostly right. `bayesanno.modeling.chance` has the measure;
        it is the competence itself in `mace`, and the diligence in `diligent_lazy_annotators`. For a point estimate
        `p_chance` is 0 or 1.

        For data with several dimensions, one row per dimension and annotator; `dimension` is the first column.

    Raises
    ------
    FitError
        If the model has no competence.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.annotator_table(fit, worst_first=True).head(3)  # doctest: +SKIP
    """
    view = view_for_table(fit)
    variables = {"competence": competence_name(view)} | {
        name: name for name in view.model.annotator_parameters if name in view.posterior
    }
    preference = prefer_first(view)

    def tabulate(part: FitPart) -> pd.DataFrame:
        data, table = part.data, _list_annotators(part)
        if isinstance(data, AnnotationData) and data.gold:  # the totals of a cluster do not say who is right
            table = table.assign(**agree_with_gold(data))
        if getattr(data, "unsure", ()):
            table["unsure"] = divide(data.unsure_by_annotator, data.by_annotator)
        for called, name in variables.items():
            described = describe_draws(part.select(view.posterior[name]), ci_prob, ci_kind)
            described |= dict(zip(DIAGNOSTICS, part.select(convergence_of(view, name)).values, strict=True))
            table = table.assign(**{f"{called}_{what}": values for what, values in described.items()})
        if preference is not None:
            described = describe_draws(preference, ci_prob, ci_kind)
            table = table.assign(**{f"prefers_first_{what}": values for what, values in described.items()})
        if (above := measure_above(view.model, view.posterior, part)) is not None:
            table["p_chance"] = (above <= MARGIN).mean(("chain", "draw")).values
        return table

    table = concat_parts(parts_of(view, need_items=False), tabulate)
    if worst_first:
        by = ["p_chance"] * ("p_chance" in table) + ["competence_mean"]
        table = table.sort_values(by, ascending=[name != "p_chance" for name in by], kind="stable", ignore_index=True)
    return table


def agree_with_gold(data: AnnotationData) -> dict[str, np.ndarray]:
    """Return each annotator's number of answers to items whose true label is known, and the share that are right."""
    gold = data.gold_codes[data.item]  # (annotation,), -1 where the truth is not known
    right = (gold >= 0) & (data.label == np.array(data.class_codes)[gold])
    n_gold, n_right = (np.bincount(data.annotator[which], minlength=data.n_annotators) for which in (gold >= 0, right))
    return {"n_gold": n_gold, "gold_agreement": divide(n_right, n_gold)}


def _list_annotators(part: FitPart) -> pd.DataFrame:
    """Return the annotators with their numbers of annotations, in the data's order."""
    return pd.DataFrame(
        {"annotator": pd.Series(list(part.data.annotators), dtype="str"), "n_annotations": part.data.by_annotator}
    )


def compare_annotators(
    fit: xr.DataTree | FitView, annotators: str | Sequence[str] | None = None, *, dimension: str | None = None
) -> pd.DataFrame:
    """Return the posterior probability that one annotator is better than another.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
    annotators : str or sequence of str, optional
        The annotators to compare; all by default.
    dimension : str, optional
        The dimension, for data with several dimensions.

    Returns
    -------
    pandas.DataFrame
        A square table with annotators as rows and columns. Each cell is the probability that the row's competence is
        above the column's; the diagonal is 0.5.

    Raises
    ------
    FitError
        If the model has no competence, the fit is a point estimate, an annotator or the dimension is not in it, or it
        has several dimensions and none is named.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.compare_annotators(fit, ["ana", "bruno"]).loc["ana", "bruno"]  # doctest: +SKIP
    """
    view = require_draws(view_for_table(fit, from_draws=True), "comparing annotators")
    competence = view.posterior[competence_name(view)]
    competence = part_of(view, dimension, need_items=False).select(competence)
    everybody = [str(name) for name in competence["annotator"].values]
    chosen = everybody if annotators is None else as_names(annotators)
    codes = find_positions("annotator", chosen, everybody)
    draws = competence.stack(sample=("chain", "draw")).transpose("annotator", "sample").values[codes]
    above = np.array([(row > draws).mean(axis=1) + 0.5 * (row == draws).mean(axis=1) for row in draws])
    return pd.DataFrame(above, index=pd.Index(chosen, name="annotator"), columns=pd.Index(chosen, name="than"))


def competence_name(view: FitView) -> str:
    """Return the name of the competence variable in the model of a fit.

    Raises
    ------
    FitError
        If it has none.
    """
    if view.model.competence is None:
        raise FitError(
            f"{view.model.name} has no competence of annotators: a model names it in its attribute competence"
        )
    return view.model.competence
