"""Values of items from ratings on a scale: how far off they are, and what their intervals cover.

    uv run python tests/benchmarks/ratings.py panels [--tables 40] [--raters 3 8 30]
    uv run python tests/benchmarks/ratings.py ends [--tables 20]
    uv run python tests/benchmarks/ratings.py asset FILE [--splits 10]

`panels`: 60 items with values ~ Normal(50, 15); raters have biases of standard deviation 6, which sum to 0, and noise
of standard deviation 9 exp(.25 z), but for one with 35; 30% of the ratings are missing.  Ratings may be beyond the
scale.

`ends`: the same with eight raters, ratings moved to the nearer end of the scale, and values ~ Normal(70, 30).

`asset`: a table with the columns aspect, item, annotator and rating (0 to 100).  Four random ratings of each item
predict the mean of its others.  The shrunk mean is the line of least squares of the others' mean on that of the four.
This is an oracle.

Ways: the mean of an item's ratings; the same with each rater's mean subtracted, or z-scored (put on the scale by the
line of least squares on the true values: an oracle); the iteration of ITU-T P.913 (2021), section 12.6, after Li and
Bampis (2017, arXiv:1611.01715), with intervals by the weights; and the model `rating` (2 chains of 500 draws).
"""

from __future__ import annotations

import argparse
import time
import warnings
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

import bayesanno as ba

N_ITEMS, MISSING, PROB = 60, 0.3, 0.89
Z = NormalDist().inv_cdf((1 + PROB) / 2)
FEW: dict[str, Any] = {"draws": 500, "tune": 500, "chains": 2, "check": False, "progressbar": False}

Estimate = tuple[np.ndarray, np.ndarray]  # of each item, and half the width of its interval, nan where there is none


def draw_panel(seed: int, n_raters: int, *, at_ends: bool = False) -> tuple[ba.RatingData, dict[str, np.ndarray]]:
    """Return ratings, and the true values of items and parameters of raters; the last rater is the bad one."""
    rng = np.random.default_rng([seed, n_raters])
    truth = rng.normal(70, 30, N_ITEMS) if at_ends else rng.normal(50, 15, N_ITEMS)
    bias, sd = rng.normal(0, 6, n_raters), 9 * np.exp(0.25 * rng.normal(size=n_raters))
    bias, sd[-1] = bias - bias.mean(), 35
    rated = truth[:, None] + bias + sd * rng.normal(size=(N_ITEMS, n_raters))
    kept = rng.random(rated.shape) >= MISSING
    kept[np.arange(N_ITEMS), rng.integers(n_raters, size=N_ITEMS)] = True  # each item has a rating
    item, rater = np.nonzero(kept)
    values = rated[item, rater]
    data = ba.RatingData(
        item=item, annotator=rater, value=values.clip(0, 100) if at_ends else values, scale=(0, 100), is_open=True,
        items=tuple(f"item {n}" for n in range(N_ITEMS)), annotators=tuple(f"rater {n}" for n in range(n_raters)),
    )  # fmt: skip
    return data, {"value": truth, "bias": bias, "sd": sd}


def spread_out(data: ba.RatingData) -> np.ndarray:
    """Return the ratings as a table (item, rater), nan where there is none."""
    table = np.full((data.n_items, data.n_annotators), np.nan)
    table[data.item, data.annotator] = data.value
    return table


def average(table: np.ndarray) -> Estimate:
    """Return means, and half the intervals of t from the standard deviation of the item's own ratings."""
    n = np.isfinite(table).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = stats.t.ppf((1 + PROB) / 2, n - 1) * np.nanstd(table, axis=1, ddof=1) / np.sqrt(n)
    return np.nanmean(table, axis=1), half


def iterate(table: np.ndarray) -> Estimate:
    """Return values and half their intervals by the iteration of P.913: biases and noise of raters, by turns."""
    value = np.nanmean(table, axis=1)
    for _ in range(1000):
        bias = np.nanmean(table - value[:, None], axis=0)
        sd = np.maximum(np.nanstd(table - value[:, None] - bias, axis=0), 1e-6)
        weight = np.isfinite(table) / sd**2
        before, value = value, np.nansum((table - bias) * weight, axis=1) / weight.sum(axis=1)
        if np.linalg.norm(value - before) < 1e-8:
            break
    return value, Z / np.sqrt(weight.sum(axis=1))


def line(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the line of least squares of y on x, at x."""
    return np.polyval(np.polyfit(x, y, 1), x)


def simple_ways(table: np.ndarray, truth: np.ndarray) -> dict[str, Estimate]:
    """Return the estimates without a model."""
    centred = table - np.nanmean(table, axis=0)
    of_rest, half = average(centred + np.nanmean(table))
    z_scored = np.nanmean(centred / np.nanstd(table, axis=0), axis=1)
    return {
        "mean": average(table),
        "rater means subtracted": (of_rest, half),
        "z-scored, oracle": (line(z_scored, truth), np.full(len(truth), np.nan)),
        "P.913": iterate(table),
    }


def covers(draws: np.ndarray, true: np.ndarray) -> float:
    """Return the share of true values in the intervals of draws (draw, parameter)."""
    low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
    return float(((low <= true) & (true <= high)).mean())


def describe_panel(seed: int, n_raters: int, ways: dict[str, dict[str, Any]], *, at_ends: bool) -> pd.DataFrame:
    """Return how far off the estimates of each way are, and what their intervals cover."""
    data, true = draw_panel(seed, n_raters, at_ends=at_ends)
    truth, rows = true["value"], {}
    for way, (value, half) in simple_ways(spread_out(data), truth).items():
        known = np.isfinite(half)
        covered = (np.abs(value - truth) <= half)[known].mean() if known.any() else np.nan
        rows[way] = {"rmse": np.sqrt(((value - truth) ** 2).mean()), "items": covered}
    for way, options in ways.items():
        start = time.process_time()
        fit = ba.fit(ba.models.Rating(**options), data, random_seed=seed, **FEW)
        seconds, table = time.process_time() - start, ba.value_table(fit, ci_prob=PROB)
        low, high = table["eti89_lb"], table["eti89_ub"]
        posterior = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
        worst = int(np.argmin(posterior["reliability"].mean("sample").values))
        rows[way] = {
            "rmse": np.sqrt(((table["value"] - truth) ** 2).mean()),
            "items": ((low <= truth) & (truth <= high)).mean(),
            **{name: covers(posterior[name].values.T, true[name]) for name in ("bias", "sd")},
            "found": float(worst == n_raters - 1),
            "max_rhat": ba.diagnostics_of(fit)["max_rhat"],
            "cpu_seconds": seconds,
        }
    return pd.DataFrame(rows).T


def describe_panels(n_raters: int, tables: int, ways: dict[str, dict[str, Any]], *, at_ends: bool) -> pd.DataFrame:
    """Return the means over panels, root mean squares of errors, and the largest R-hat."""
    every = pd.concat(
        [describe_panel(seed, n_raters, ways, at_ends=at_ends) for seed in range(tables)], keys=range(tables)
    )
    by_way = every.groupby(level=1, sort=False)
    return by_way.mean().assign(
        rmse=by_way["rmse"].agg(lambda x: np.sqrt((x**2).mean())), max_rhat=by_way["max_rhat"].max()
    )


def describe_splits(ratings: pd.DataFrame, splits: int) -> pd.DataFrame:
    """Return the root mean square distance to the mean of an item's other ratings, from four of them."""
    rows: dict[str, list[float]] = {}
    ends: tuple[Literal["open", "censored"], ...] = ("open", "censored")
    models = {
        f"rating, {of}{', slope' * slope}": ba.models.Rating(ends=of, slope=slope)
        for slope in (False, True)
        for of in ends
    }
    for seed in range(splits):
        chosen = ratings.groupby("item").sample(4, random_state=seed)
        others = ratings.drop(chosen.index).groupby("item")["rating"].mean()
        data = ba.read_ratings(
            chosen.rename(columns={"rating": "label"})[["item", "annotator", "label"]], scale=(0, 100)
        )
        target = others.loc[list(data.items)].to_numpy()
        mean = average(spread_out(data))[0]
        found = {"mean": mean, "mean, shrunk by an oracle": line(mean, target)}
        for way, model in models.items():
            start = time.process_time()
            fit = ba.fit(model, data, random_seed=seed, **FEW)
            rows.setdefault(f"{way}: cpu seconds", []).append(time.process_time() - start)
            found[way] = ba.value_table(fit)["expected"].to_numpy()
        for way, value in found.items():
            rows.setdefault(way, []).append(np.sqrt(((value - target) ** 2).mean()))
    return pd.DataFrame(rows).agg(["mean", "std"]).T


def main() -> None:
    """Describe what the command line names, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["panels", "ends", "asset"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--raters", type=int, nargs="+", default=[3, 8, 30])
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    pd.set_option("display.max_columns", None)
    if options.what == "asset":
        ratings = pd.read_csv(options.file)
        for aspect, own in ratings.groupby("aspect"):
            print(
                f"{aspect} ({options.splits} splits)",
                describe_splits(own, options.splits).round(2),
                sep="\n",
                flush=True,
            )
        return
    at_ends = options.what == "ends"
    ways: dict[str, dict[str, Any]] = {"rating": {}} | ({"rating, censored": {"ends": "censored"}} if at_ends else {})
    for n_raters in [8] if at_ends else options.raters:
        table = describe_panels(n_raters, options.tables, ways, at_ends=at_ends)
        print(f"{n_raters} raters ({options.tables} tables)", table.round(3), sep="\n", flush=True)


if __name__ == "__main__":
    main()
