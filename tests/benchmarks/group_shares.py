"""Which system is better: shares of good outputs, by judges and a few true labels, in simulated panels.

    uv run --group benchmarks python tests/benchmarks/group_shares.py --panels 30

A panel: three systems, 200 outputs of each, good with probability 0.75, 0.6 and 0.45; 20 judges who are right on 60 to
90% of good outputs and of bad ones, each at a rate of their own, and five of them, by chance, on each output. The true
labels of 0, 20 and 60 outputs of each system, drawn at random, are known. Errors are

    independent   given the true label;
    shared        the log odds of being right are less a difficulty of the output, Normal(0, 1.5) for all judges;
    favours       independent, but of outputs of the first system every judge calls a quarter of the bad ones good

Of each method and each quantity, a system's share or the difference of two: bias, root mean square error, the share of
94% intervals that cover the truth, and their mean width. The truth is the share in the population (`at large`), or
among the 600 outputs (`of these`, with --among). One model B is fitted to each panel, without the true labels.

    model           rows of `group_table` that take the model as right; known labels count
    recalibrated    the same of the fit recalibrated by the known labels
    ppi             prediction-powered rows of `group_table`
    ppi_py          the same by the package ppi-python, with a lambda for each system and normal quantiles
    labels          known labels alone, Beta(1/2, 1/2)
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, logit

import bayesanno as ba
from bayesanno.fits.storage import data_groups

SHARES = {"A": 0.75, "B": 0.6, "C": 0.45}
N_ITEMS, N_JUDGES, PER_ITEM = 200, 20, 5  # items of each system
PROB = 0.94
N_DRAWS = 4000


def make_panel(seed: int, errors: str) -> tuple[ba.AnnotationData, dict[str, str], np.ndarray, np.ndarray]:
    """Return a panel, the system of each item, the truth (item,), and when an item of a system is labelled (item,)."""
    rng = np.random.default_rng([seed, 20261125])
    system = np.repeat(np.arange(len(SHARES)), N_ITEMS)
    truth = (rng.uniform(size=system.size) < np.array([*SHARES.values()])[system]).astype(int)
    right = rng.uniform(0.6, 0.9, size=(2, N_JUDGES))  # (true_class, judge)
    item = np.repeat(np.arange(system.size), PER_ITEM)
    judge = np.concatenate([rng.choice(N_JUDGES, PER_ITEM, replace=False) for _ in range(system.size)])
    odds = logit(right[truth[item], judge])
    if errors == "shared":
        odds = odds - rng.normal(0, 1.5, size=system.size)[item]
    said = np.where(rng.uniform(size=item.size) < expit(odds), truth[item], 1 - truth[item])
    if errors == "favours":
        said = np.where((system[item] == 0) & (rng.uniform(size=item.size) < 0.25), 1, said)
    turn = np.concatenate([rng.permutation(N_ITEMS) for _ in SHARES])
    names = tuple(f"o{number}" for number in range(system.size))
    data = ba.AnnotationData(
        item=item, annotator=judge, label=said, items=names, annotators=tuple(f"j{one}" for one in range(N_JUDGES)),
        labels=("bad", "good"),
    )  # fmt: skip
    systems = {name: [*SHARES][code] for name, code in zip(names, system.tolist(), strict=True)}
    return data, systems, truth, turn


Found = dict[tuple[str, str], tuple[float, float, float]]  # of (first, second): estimate, lower and upper end


def by_labels(system: np.ndarray, gold: np.ndarray, rng: np.random.Generator) -> Found:
    """Return shares by true labels alone; gold is -1 where unknown."""
    good = np.array([((system == code) & (gold == 1)).sum() for code in range(len(SHARES))])
    bad = np.array([((system == code) & (gold == 0)).sum() for code in range(len(SHARES))])
    draws = rng.beta(good + 0.5, bad + 0.5, size=(N_DRAWS, good.size))
    rows = {(name, ""): draws[:, code] for code, name in enumerate(SHARES)}
    rows |= {(one, other): rows[one, ""] - rows[other, ""] for one, other in itertools.combinations(SHARES, 2)}
    tails = [(1 - PROB) / 2, (1 + PROB) / 2]
    return {name: (float(row.mean()), *np.quantile(row, tails).tolist()) for name, row in rows.items()}


def by_package(system: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Found:
    """Return the shares of ppi-python."""
    from ppi_py import ppi_mean_ci

    found: Found = {}
    for code, name in enumerate(SHARES):
        known, rest = ((system == code) & are for are in (gold >= 0, gold < 0))
        low, high = ppi_mean_ci(gold[known].astype(float), predicted[known], predicted[rest], alpha=1 - PROB)
        found[name, ""] = tuple(float(np.ravel(value)[0]) for value in ((low + high) / 2, low, high))
    for one, other in itertools.combinations(SHARES, 2):
        (a, a_low, a_high), (b, b_low, b_high) = found[one, ""], found[other, ""]
        half = np.hypot(a_high - a_low, b_high - b_low) / 2
        found[one, other] = (a - b, a - b - half, a - b + half)
    return found


def by_table(fit: Any, systems: dict[str, str], seed: int, *, at_large: bool) -> dict[str, Found]:
    """Return what `group_table` says of the share of good outputs, by source."""
    found: dict[str, Found] = {}
    asked: dict[str, Any] = {"ci_prob": PROB, "at_large": at_large, "random_seed": seed}
    shares = ba.group_table(fit, systems, **asked).assign(second="").rename(columns={"group": "first"})
    pairs = ba.group_table(fit, systems, differences=True, **asked)
    for row in pd.concat([shares, pairs]).to_dict("records"):
        one, other = row["first"], row["second"]
        values = [row[name] for name in ("mean", "eti94_lb", "eti94_ub")]
        found.setdefault(row["source"], {})[one, other] = tuple(values)
        found[row["source"]][other, one] = (-values[0], -values[2], -values[1])
    return found


def with_gold(fit: Any, data: ba.AnnotationData) -> Any:
    """Return a fit with the known labels of these data, which are otherwise those of the fit."""
    fit = fit.copy()
    for name, group in data_groups(data).items():
        fit[name] = xr.DataTree(group)
    return fit


def compare_on(
    seed: int, errors: str, n_known: list[int], fit_with: dict[str, Any], *, among: bool, recalibrated: bool
) -> Iterator[dict[str, Any]]:
    """Yield a row for each method and quantity, of one panel."""
    data, systems, truth, turn = make_panel(seed, errors)
    rng, system = np.random.default_rng(seed), np.repeat(np.arange(len(SHARES)), N_ITEMS)
    fitted = ba.fit("model_b", data, random_seed=seed, progressbar=False, **fit_with)
    for known in n_known:
        gold = np.where(turn < known, truth, -1)
        named = {name: data.labels[one] for name, one in zip(data.items, gold.tolist(), strict=True) if one >= 0}
        fit = with_gold(fitted, replace(data, gold=named))
        of_these = {name: truth[system == code].mean() for code, name in enumerate(SHARES)}
        for target, true in (("at large", SHARES), ("of these", of_these))[: 1 + among]:
            at_large = target == "at large"
            found = by_table(fit, systems, seed, at_large=at_large)
            if known and recalibrated:
                found["recalibrated"] = by_table(ba.recalibrate(fit), systems, seed, at_large=at_large)["model"]
            if known and at_large:
                found["ppi_py"] = by_package(system, gold, fit["latent"]["probability"].values[:, 1])
                found["labels"] = by_labels(system, gold, rng)
            for method, rows in found.items():
                for first, second in [(name, "") for name in SHARES] + [*itertools.combinations(SHARES, 2)]:
                    (estimate, low, high), value = rows[first, second], true[first] - (true[second] if second else 0)
                    yield {
                        "seed": seed, "errors": errors, "target": target, "known": known, "method": method,
                        "quantity": "difference" if second else "share", "error": estimate - value,
                        "covers": low - 1e-9 <= value <= high + 1e-9, "width": high - low,
                    }  # fmt: skip


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each kind of errors, target, quantity, number of known labels and method."""
    by = ["errors", "target", "quantity", "known", "method"]
    groups = rows.assign(square=rows["error"] ** 2).groupby(by, sort=False)
    found = groups[["error", "square", "covers", "width"]].mean()
    found["square"] = np.sqrt(found["square"])
    found.insert(0, "panels", groups["seed"].nunique())
    return found.rename(columns={"error": "bias", "square": "rmse"}).sort_index(level=by[:4], sort_remaining=False)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", type=int, default=30)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first panel")
    parser.add_argument("--errors", nargs="*", default=["independent", "shared"])
    parser.add_argument("--known", nargs="*", type=int, default=[0, 20, 60])
    parser.add_argument("--method", default="nuts", help="nuts or vb")
    parser.add_argument("--draws", type=int, default=500, help="of each of two chains")
    parser.add_argument("--check", action="store_true", help="check and adjust the fits, as by default")
    parser.add_argument("--among", action="store_true", help="shares among the outputs of the panel as well")
    parser.add_argument("--recalibrated", action="store_true", help="rows of recalibrated fits as well")
    parser.add_argument("--out", help="a CSV file of all rows, written after each panel")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits to so few draws
    how = {"method": asked.method, "draws": asked.draws, "tune": asked.draws, "chains": 2, "check": asked.check}
    rows: list[dict[str, Any]] = []
    for seed in range(asked.first, asked.first + asked.panels):
        for errors in asked.errors:
            rows += compare_on(seed, errors, asked.known, how, among=asked.among, recalibrated=asked.recalibrated)
        if asked.out:
            pd.DataFrame(rows).to_csv(asked.out, index=False)
    print(summarise(pd.DataFrame(rows)).round(3).to_string())


if __name__ == "__main__":
    main()
