"""Which system is better: shares of good outputs, by judges and a few true labels, in simulated panels.

    uv run --group benchmarks python tests/benchmarks/group_shares.py --panels 200 --errors independent shared

A panel: three systems, 200 outputs of each, good with probability 0.75, 0.6 and 0.45; 20 judges who are right on 60 to
90% of good outputs and of bad ones, each at a rate of their own, and five of them, by chance, on each output. The true
label of 20 outputs of each system is known. Errors are

    independent   given the true label;
    shared        the log odds of being right are less a difficulty of the output, Normal(0, 1.5) for all judges;
    favours       independent, but of outputs of the first system every judge calls a quarter of the bad ones good

Of each method and each quantity, a system's share or the difference of two: bias, root mean square error, the share of
94% intervals that cover the truth, and their mean width. The truth is the probability above, that of a system at large;
`..., of these 600` (with --among) has shares among the outputs of the panel, and is held against these.

    gold             true labels alone, Beta(1/2, 1/2)
    Rogan-Gladen     the vote, corrected by its sensitivity and specificity on all true labels; draws of all three
    ppi vote         prediction-powered inference (Angelopoulos et al. 2023), power-tuned, by the share of votes
    ppi model_b      the same by the probabilities of model B
    model_b          `group_table`: each system has its own prevalence, annotators are those of the fit (a cut model)
    joint            the fit has the class prior `Columns("(1 | system)")`, so annotators learn from it too
    recalibrated     either of them, of the fit recalibrated by the true labels
    controls         of a fit to which the true labels were given as controls
    shared_errors    the same of another model
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit

import bayesanno as ba

SHARES = {"A": 0.75, "B": 0.6, "C": 0.45}
N_ITEMS, N_GOLD, N_JUDGES, PER_ITEM = 200, 20, 20, 5  # items and gold of each system
PROB = 0.94
N_DRAWS = 4000
Z = stats.norm.ppf((1 + PROB) / 2)


def make_panel(seed: int, errors: str) -> tuple[ba.AnnotationData, dict[str, str], np.ndarray]:
    """Return a panel whose data have the known labels as gold, the system of each item, and the truth (item,)."""
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
    gold = np.concatenate([rng.choice(N_ITEMS, N_GOLD, replace=False) + N_ITEMS * one for one in range(len(SHARES))])
    names = tuple(f"o{number}" for number in range(system.size))
    labels = ("bad", "good")
    data = ba.AnnotationData(
        item=item, annotator=judge, label=said, items=names, annotators=tuple(f"j{one}" for one in range(N_JUDGES)),
        labels=labels, gold={names[one]: labels[truth[one]] for one in sorted(gold.tolist())},
    )  # fmt: skip
    return data, {name: [*SHARES][code] for name, code in zip(names, system.tolist(), strict=True)}, truth


# ------------------------------------------------------------------------------------------------ without a model

Found = dict[tuple[str, str], tuple[float, float, float]]  # of (first, second): estimate, lower and upper end


def from_draws(draws: np.ndarray) -> Found:
    """Return estimates and equal-tailed intervals, of draws (draw, system)."""
    rows = {(name, ""): draws[:, code] for code, name in enumerate(SHARES)}
    pairs = itertools.combinations(enumerate(SHARES), 2)
    rows |= {(one, other): draws[:, a] - draws[:, b] for (a, one), (b, other) in pairs}
    tails = [(1 - PROB) / 2, (1 + PROB) / 2]
    return {name: (float(row.mean()), *np.quantile(row, tails).tolist()) for name, row in rows.items()}


def by_gold(system: np.ndarray, gold: np.ndarray, rng: np.random.Generator) -> Found:
    """True labels alone; gold is -1 where unknown."""
    good = np.array([((system == code) & (gold == 1)).sum() for code in range(len(SHARES))])
    return from_draws(rng.beta(good + 0.5, N_GOLD - good + 0.5, size=(N_DRAWS, good.size)))


def by_rogan_gladen(system: np.ndarray, gold: np.ndarray, vote: np.ndarray, rng: np.random.Generator) -> Found:
    """Return the vote's shares, corrected by its errors on all true labels."""
    right = [((gold == label) & (vote == label)).sum() for label in (0, 1)]
    wrong = [((gold == label) & (vote != label)).sum() for label in (0, 1)]
    rate = [rng.beta(r + 0.5, w + 0.5, size=(N_DRAWS, 1)) for r, w in zip(right, wrong, strict=True)]
    good = np.array([((system == code) & (vote == 1)).sum() for code in range(len(SHARES))])
    seen = rng.beta(good + 0.5, N_ITEMS - good + 0.5, size=(N_DRAWS, good.size))
    return from_draws(((seen + rate[0] - 1) / (rate[0] + rate[1] - 1)).clip(0, 1))


def by_ppi(system: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Found:
    """Prediction-powered inference of each system's mean, from its own true labels."""
    from ppi_py import ppi_mean_ci

    found: Found = {}
    for code, name in enumerate(SHARES):
        known = (system == code) & (gold >= 0)
        rest = (system == code) & (gold < 0)
        low, high = ppi_mean_ci(gold[known].astype(float), predicted[known], predicted[rest], alpha=1 - PROB)
        found[name, ""] = tuple(float(np.ravel(value)[0]) for value in ((low + high) / 2, low, high))
    for one, other in itertools.combinations(SHARES, 2):
        (a, a_low, a_high), (b, b_low, b_high) = found[one, ""], found[other, ""]
        half = np.hypot(a_high - a_low, b_high - b_low) / 2
        found[one, other] = (a - b, a - b - half, a - b + half)
    return found


# --------------------------------------------------------------------------------------------------- with a model


def by_table(fit: Any, systems: dict[str, str], seed: int, **options: Any) -> Found:
    """Return what `group_table` says of the share of good outputs."""
    table = ba.group_table(fit, systems, ci_prob=PROB, random_seed=seed, **options).query("label == 'good'")
    columns = ["mean", "eti94_lb", "eti94_ub"]
    rows = table[["first", "second", *columns]].itertuples(index=False)
    return {(first, second): tuple(values) for first, second, *values in rows}


def fit_model(name: Any, data: ba.AnnotationData, seed: int, draws: int) -> Any:
    """Fit by NUTS."""
    return ba.fit(name, data, draws=draws, tune=draws, chains=2, check=False, random_seed=seed, progressbar=False)


def compare_on(
    seed: int, errors: str, draws: int, models: list[str], *, among: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield a row for each method and quantity, of one panel."""
    data, systems, truth = make_panel(seed, errors)
    rng = np.random.default_rng(seed)
    system = np.repeat(np.arange(len(SHARES)), N_ITEMS)
    gold = data.gold_codes
    share = data.votes[:, 1] / data.votes.sum(axis=1)
    found = {
        "gold": by_gold(system, gold, rng),
        "Rogan-Gladen": by_rogan_gladen(system, gold, (share > 0.5).astype(int), rng),
        "ppi vote": by_ppi(system, gold, share),
    }
    seconds = dict.fromkeys(found, 0.0)
    finite: dict[str, Found] = {}
    for name in models:
        begin = time.perf_counter()
        if name == "controls":
            fits = {name: fit_model("model_b", replace(data, controls=dict(data.gold)), seed, draws)}
        else:
            fit = fit_model(name, data, seed, draws)
            fits = {name: fit, f"{name} recalibrated": ba.recalibrate(fit)}
            columns = {"system": [systems[item] for item in data.items]}
            joint = ba.get_model(name, {"class_prior": ba.Columns("(1 | system)")})
            of_systems = fit_model(joint, replace(data, item_columns=columns), seed, draws)
            fits |= {f"{name} joint": of_systems, f"{name} joint recalibrated": ba.recalibrate(of_systems)}
        fitted = time.perf_counter() - begin
        for method, fit in fits.items():
            begin = time.perf_counter()
            found[method] = by_table(fit, systems, seed, at_large=True)
            seconds[method] = fitted + time.perf_counter() - begin
            if among:
                finite[f"{method}, of these 600"] = by_table(fit, systems, seed)
        if name == "model_b":
            found["ppi model_b"] = by_ppi(system, gold, fits[name]["latent"]["probability"].values[:, 1])
            seconds["ppi model_b"] = fitted
    of_panel = {name: truth[system == code].mean() for code, name in enumerate(SHARES)}
    for method, rows in (found | finite).items():
        true = of_panel if method in finite else SHARES
        for (first, second), (estimate, low, high) in rows.items():
            value = true[first] - (true[second] if second else 0)
            yield {
                "seed": seed, "errors": errors, "method": method, "quantity": "difference" if second else "share",
                "error": estimate - value, "covers": low - 1e-9 <= value <= high + 1e-9, "width": high - low,
                "seconds": seconds.get(method, np.nan), "first": first, "second": second,
            }  # fmt: skip


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each kind of errors, quantity and method."""
    groups = rows.assign(square=rows["error"] ** 2).groupby(["errors", "quantity", "method"], sort=False)
    found = groups[["error", "square", "covers", "width", "seconds"]].mean()
    found["square"] = np.sqrt(found["square"])
    found.insert(0, "panels", groups["seed"].nunique())
    return found.rename(columns={"error": "bias", "square": "rmse"}).reset_index().sort_values(
        ["errors", "quantity"], kind="stable"
    )  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first panel")
    parser.add_argument("--errors", nargs="*", default=["independent", "shared"])
    parser.add_argument("--models", nargs="*", default=["model_b"], help="model_b, controls, shared_errors")
    parser.add_argument("--draws", type=int, default=500, help="of each of two chains")
    parser.add_argument("--among", action="store_true", help="shares among the outputs of the panel as well")
    parser.add_argument("--out", help="a CSV file of all rows, written after each panel")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits to so few draws
    rows: list[dict[str, Any]] = []
    for seed in range(asked.first, asked.first + asked.panels):
        for errors in asked.errors:
            rows += compare_on(seed, errors, asked.draws, asked.models, among=asked.among)
        if asked.out:
            pd.DataFrame(rows).to_csv(asked.out, index=False)
    print(summarise(pd.DataFrame(rows)).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
