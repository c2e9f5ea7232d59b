"""Whether intervals of strengths cover the true ones: rankings, best-worst choices, and both orders of a pair.

    uv run python tests/benchmarks/rankings.py [--tables 40] [--designs rankings best-worst orders] [--judges-err]

Eight systems have strengths ~ Normal(0, 1), less their mean. Each design has its own tables:

    rankings    60 rankings of 3 to 6 systems (a table has one of these numbers), after Plackett and Luce
    best-worst  60 choices of the best and the worst of 5, after Plackett and Luce
    orders      200 comparisons, each in both orders by two of six judges, who are right on .75 to .95 and say the first
                of up to .5 of the pairs whichever is better

Rankings and choices have one answer an item, so that winners are taken as true; `one_coin` fits them, and `model_b` the
comparisons in both orders (2 chains of 400 draws). Printed are the shares of true strengths, and of differences of two,
within 89% and 94% intervals, and the slope of posterior means on true differences (1.0 if they are neither stretched
nor shrunk).
"""

from __future__ import annotations

import argparse
import warnings
from itertools import combinations

import numpy as np
import pandas as pd

import bayesanno as ba

N_SYSTEMS, N_ROWS, N_COMPARISONS, N_JUDGES = 8, 60, 200, 6
NAMES = tuple(f"system {number}" for number in range(1, 9))
PROBS = (0.89, 0.94)


def draw_rankings(rng: np.random.Generator, strength: np.ndarray, k: int) -> list[list[str]]:
    """Draw rankings of k random systems after Plackett and Luce, the best first."""
    drawn = []
    for _ in range(N_ROWS):
        chosen = rng.choice(N_SYSTEMS, k, replace=False)
        drawn.append([NAMES[one] for one in chosen[np.argsort(-(strength[chosen] + rng.gumbel(size=k)))]])
    return drawn


def draw_table(design: str, seed: int, strength: np.ndarray, rng: np.random.Generator) -> ba.AnnotationData:
    """Draw a table of a design, and read it."""
    if design == "orders":
        accuracy, bias = rng.uniform(0.75, 0.95, N_JUDGES), rng.uniform(0, 0.5, N_JUDGES)
        rows = []
        for number in range(N_COMPARISONS):
            a, b = rng.choice(N_SYSTEMS, 2, replace=False)
            a_wins = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
            for judge, (one, other) in zip(rng.choice(N_JUDGES, 2, replace=False), ((a, b), (b, a)), strict=True):
                right = (one == a) == a_wins  # whether the first is better
                says_first = rng.random() < bias[judge] or (right == (rng.random() < accuracy[judge]))
                rows.append(
                    (f"q{number}", NAMES[one], NAMES[other], f"judge {judge}", NAMES[one if says_first else other])
                )
        table = pd.DataFrame(rows, columns=["question", "model_a", "model_b", "judge", "winner"])
        return ba.read_annotations(table, pairs="model_a,model_b", item="question")
    drawn = draw_rankings(rng, strength, 5 if design == "best-worst" else 3 + seed % 4)
    judges = [f"judge {number % N_JUDGES}" for number in range(N_ROWS)]
    if design == "rankings":
        table = pd.DataFrame({"judge": judges, "order": [" > ".join(one) for one in drawn]})
        return ba.read_annotations(table, ranking="order", annotator="judge")
    columns = {"best": [one[0] for one in drawn], "worst": [one[-1] for one in drawn], "of": map(",".join, drawn)}
    return ba.read_annotations(pd.DataFrame({"judge": judges} | columns), best_worst="best,worst,of", annotator="judge")


def describe_table(design: str, seed: int, *, judges_err: bool) -> dict[str, float]:
    """Draw a table, fit it, and return what its intervals cover."""
    rng = np.random.default_rng([seed, len(design)])
    strength = rng.normal(size=N_SYSTEMS)
    strength -= strength.mean()
    data = draw_table(design, seed, strength, rng)
    pairs = ba.Pairs(first=data.sides[0], second=data.sides[1], judges_err=judges_err)
    model = ba.get_model("model_b" if design == "orders" else "one_coin", {"class_prior": pairs})
    fit = ba.fit(model, data, draws=400, tune=400, chains=2, random_seed=seed, check=False, progressbar=False)
    draws = fit["posterior"]["strength"].sel(system=list(NAMES)).values.reshape(-1, N_SYSTEMS)
    a, b = np.array([*combinations(range(N_SYSTEMS), 2)]).T
    found: dict[str, float] = {}
    for what, of_draws, true in (
        ("strength", draws, strength),
        ("difference", draws[:, a] - draws[:, b], strength[a] - strength[b]),
    ):
        for prob in PROBS:
            low, high = np.quantile(of_draws, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
            found[f"{what} {prob}"] = ((low <= true) & (true <= high)).mean()
    means = of_draws.mean(axis=0)
    return found | {"slope": float(means @ true / (true @ true))}


def main() -> None:
    """Draw, fit and describe the tables, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--designs", nargs="+", default=["rankings", "best-worst", "orders"])
    parser.add_argument("--judges-err", action="store_true")
    options = parser.parse_args()
    for design in options.designs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = [describe_table(design, seed, judges_err=options.judges_err) for seed in range(options.tables)]
        print(design, f"({options.tables} tables)", pd.DataFrame(rows).mean().round(3).to_dict(), flush=True)


if __name__ == "__main__":
    main()
