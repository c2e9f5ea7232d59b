"""Tables of simulation-based calibration: ranks, coverage of intervals, calibration of probabilities.

The invariant: only simulations are independent of each other. Values pooled over the annotators, classes or items of
one simulation are treated as a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from bayesanno._core.errors import DataError, FitError
from bayesanno._core.intervals import name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.validate import check_at_least, check_choice, check_made
from bayesanno._core.wording import name_elements
from bayesanno.agreement.resampling import check_resampling
from bayesanno.criticism.calibration import (
    BINS,
    Predicted,
    bound_share,
    find_edges,
    score_probabilities,
    tabulate_reliability,
    tabulate_scores,
)
from bayesanno.criticism.sbc import KEPT, PROBABILITY, STATE

RANK_BINS = 10  # bins of the test of uniformity
LEVELS = (50, 94)  # percent of central intervals, such that their ends fall between ranks


def sbc_table(
    study: xr.Dataset,
    *,
    of: Literal["parameters", "coverage", "labels", "scores"] = "parameters",
    bins: int = BINS,
    ci_prob: float | None = None,
    resamples: int = 1000,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return whether posteriors of simulated data are calibrated: ranks, intervals, labels, or scores of labels.

    Parameters
    ----------
    study : xarray.Dataset
        The result of `sbc`; for "labels" and "scores", of a model with several states per item (labels or types).
    of : {"parameters", "coverage", "labels", "scores"}
        "parameters": whether the ranks of each parameter are uniform. "coverage": how often central posterior intervals
        cover the true values, pooled over annotators, classes and so on. "labels": how often labels are right, by their
        probability in the fits. "scores": scores of these probabilities.
    bins : int, default 10
        For labels and scores: the number of bins of equal width in [0, 1] for the probability of an item's most
        probable label.
    ci_prob : float, optional
        The confidence level of intervals for shares and scores; by default as in `summary`.
    resamples : int, default 1000
        For scores: the number of bootstrap resamples of the simulations; 0 for no intervals.
    random_seed : int, optional
        For scores.

    Returns
    -------
    pandas.DataFrame
        For parameters, one row each, the smallest p first: `parameter`; `mean_rank` (0.5 is right; above, the posterior
        is too low); `spread`, the variance of ranks relative to that of uniform ones (above 1, the posterior is too
        narrow); `covers_50` and `covers_94`, the shares of simulations in which the central intervals of 50% and 94%
        cover the true value; `p`, from a chi-square test with ten bins; and `p_adjusted` for the number of parameters
        (Holm 1979). The study as a whole fails if the smallest `p_adjusted` is small. The last columns are the same in
        all rows: `simulations`, their number, and `warned`, the number of fits that warned that they are not reliable.
        These are ranked with the others, since leaving them out would select among the data.

        For coverage, two rows per variable, such as the accuracy of all annotators: `variable`; `level`, the
        probability of the posterior intervals (0.5 or 0.94); `n`, the number of true values; `covered`, the share of
        them that is covered; `ci89_lb` and `ci89_ub` (named by `ci_prob`), the ends of an exact interval. It uses the
        effective number of independent values, since the parameters of one simulation are correlated.

        For labels, one row per nonempty bin, with the columns of `calibration_table`; for scores, those of
        `calibration_scores`. Intervals are over simulations.

    Raises
    ------
    FitError
        If `study` is not from `sbc`, there is no such table, the items have only one state, the seed is invalid, or
        there are fewer than 50 simulations, so that bins of ranks would have fewer than 5.
    DataError
        If `bins`, `ci_prob` or `resamples` is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> design = ba.make_design(items=20, annotators=3, labels=2, per_item=3, random_seed=1)
    >>> study = ba.sbc("model_b", design, simulations=200, random_seed=1, workers=2)  # doctest: +SKIP
    >>> bool(ba.sbc_table(study)["p_adjusted"].min() > 0.01)  # doctest: +SKIP
    True
    >>> ba.sbc_table(study, of="coverage").query("variable == 'accuracy'")  # doctest: +SKIP
    """
    check_choice("of", of, ("parameters", "coverage", "labels", "scores"))
    count_simulations(study)
    if of == "parameters":
        return _test_ranks(study)
    ci_prob = check_resampling(ci_prob, resamples, random_seed)
    if of == "coverage":
        return _count_covered(study, ci_prob)
    check_at_least("bins", bins, 1, DataError)
    labels, n = _score_labels(study), study.sizes["simulation"]
    if of == "labels":
        return tabulate_reliability(labels.sure, labels.right, find_edges(labels.sure, bins), ci_prob, units=n)
    return tabulate_scores(labels, bins, ci_prob, resamples, random_seed, units=n)


def _test_ranks(study: xr.Dataset) -> pd.DataFrame:
    from scipy.stats import chisquare

    n = study.sizes["simulation"]
    if n < 5 * RANK_BINS:
        raise FitError(f"there are {n} simulations: a test of their ranks needs {5 * RANK_BINS} or more")
    rows = []
    for _, labels, values in ranks_by_variable(study):
        for label, own in zip(labels, values.T, strict=True):
            counts = np.bincount(own * RANK_BINS // (KEPT + 1), minlength=RANK_BINS)
            share = (own + 0.5) / (KEPT + 1)
            row = {"parameter": label, "mean_rank": share.mean(), "spread": share.var(ddof=1) * 12}
            row |= {f"covers_{level}": _is_covered(own, level).mean() for level in LEVELS}
            rows.append(row | {"p": float(chisquare(counts).pvalue)})
    table = pd.DataFrame(rows).sort_values("p", kind="stable", ignore_index=True)
    steps = table["p"].to_numpy() * np.arange(len(table), 0, -1)
    table = table.assign(p_adjusted=np.minimum(np.maximum.accumulate(steps), 1.0))
    return table.assign(simulations=n, warned=int(study["warned"].sum()))


def _count_covered(study: xr.Dataset, ci_prob: float) -> pd.DataFrame:
    rows = []
    for name, _, values in ranks_by_variable(study):
        for level in LEVELS:
            held = _is_covered(values, level)  # (simulation, element)
            ends = bound_share(held.sum(axis=1), np.full(len(held), held.shape[1]), ci_prob)
            row = {"variable": name, "level": level / 100, "n": held.size, "covered": held.mean()}
            rows.append(row | dict(zip(name_bounds("ci", ci_prob), ends, strict=True)))
    return pd.DataFrame(rows)


def count_simulations(ranks: xr.Dataset) -> int:
    """Return the number of simulations in a study; raise a FitError if `ranks` is not from `sbc`."""
    check_made(ranks, "Dataset", "sbc", ["ranked"])
    return int(ranks.sizes["simulation"])


def ranks_by_variable(ranks: xr.Dataset) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Yield each variable's name, the names of its elements, and their ranks (simulation, element)."""
    count_simulations(ranks)
    for name in ranks.attrs["ranked"]:
        values = ranks[name].transpose("simulation", ...)
        coords = [values[dim].values.tolist() for dim in values.dims[1:]]
        yield name, list(name_elements(name, coords)), values.values.reshape(len(values), -1)


def _is_covered(ranks: np.ndarray, level: int) -> np.ndarray:
    """Return whether the central interval of `level` percent covers the truth: `level` of the 100 ranks are inside."""
    outside = (KEPT + 1 - level) // 2
    return (ranks >= outside) & (ranks <= KEPT - outside)


def _score_labels(ranks: xr.Dataset) -> Predicted:
    """Return the fits' predictions for the items of all simulations, simulation after simulation."""
    if any(str(name).startswith("probability_") for name in ranks):
        raise FitError("this study is from an older version: run sbc again")
    if PROBABILITY not in ranks:
        raise FitError(f"items of {ranks.attrs['model']} have only one state: there are no labels to score")
    state = ranks[STATE].transpose("simulation", ...)  # (simulation, item), or with dimensions between
    probability = ranks[PROBABILITY].transpose(*state.dims, ...).values
    return score_probabilities(probability.reshape(state.size, -1), state.values.ravel())
