"""A crowd is a population: the hierarchical model beside model B and the vote, on simulated crowds with known truth.

    uv run python tests/benchmarks/population.py --sets 20

Each crowd: five ordered labels of unequal prevalence, neighbours confused and the higher one more often; annotators'
log odds drawn around a typical annotator's; 500 items, and 150 annotators of 5 to 500 answers, most of them few. For
each method: accuracy of labels, mean log score of the true label, and the mean absolute error of annotators' confusion
matrices, by how many answers they gave. The vote's probabilities are its shares, with half an answer for each label.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import bayesanno as ba
from bayesanno.modeling.ops.variables import draw_rows

LABELS = ("1 poor", "2 fair", "3 good", "4 fine", "5 best")
PREVALENCE = np.array([0.35, 0.25, 0.2, 0.12, 0.08])
LOG_ODDS = {-4: -5.0, -3: -5.0, -2: -3.5, -1: -2.0, 0: 0.0, 1: -1.0, 2: -3.0, 3: -5.0, 4: -5.0}  # by steps too high
SPREAD = 0.8
LEAST, MOST, TAIL = 5, 500, 1.2  # answers of an annotator: a power law, cut off
BINS = [5, 10, 20, 50, 501]


def make_crowd(
    seed: int, *, n_items: int = 500, n_annotators: int = 150, law: str = "power"
) -> tuple[ba.AnnotationData, np.ndarray]:
    """Return a crowd's answers, the truth as gold, and its confusion matrices (annotator, true_class, response)."""
    rng = np.random.default_rng(seed)
    codes = np.arange(len(LABELS))
    logits = np.array([[LOG_ODDS[int(said - true)] for said in codes] for true in codes])
    typical = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    centres = np.broadcast_to(typical, (n_annotators, *typical.shape))
    confusion = draw_rows(centres, np.full(codes.size, SPREAD), codes, rng)
    u = rng.uniform(size=n_annotators)
    counts = LEAST * u ** (-1 / TAIL) if law == "power" else LEAST * (MOST / LEAST) ** u
    counts = np.minimum(counts, min(MOST, n_items)).astype(int)
    truth = rng.choice(codes, size=n_items, p=PREVALENCE)
    annotator = np.repeat(np.arange(n_annotators), counts)
    item = np.concatenate([rng.choice(n_items, size=n, replace=False) for n in counts])
    below = confusion[annotator, truth[item]].cumsum(axis=1)
    label = (rng.uniform(size=(item.size, 1)) * below[:, -1:] >= below).sum(axis=1)
    items = tuple(f"i{number}" for number in range(n_items))
    data = ba.AnnotationData(
        item=item, annotator=annotator, label=label, items=items,
        annotators=tuple(f"a{number}" for number in range(n_annotators)), labels=LABELS,
        gold={name: LABELS[code] for name, code in zip(items, truth.tolist(), strict=True)},
    )  # fmt: skip
    return data, confusion


def judge(data: ba.AnnotationData, probability: np.ndarray) -> dict[str, float]:
    """Return accuracy and mean log score of the true label."""
    of_truth = probability[np.arange(data.n_items), data.gold_codes]
    return {
        "accuracy": float((probability.argmax(axis=1) == data.gold_codes).mean()),
        "log_score": float(np.log(of_truth).mean()),
    }


def judge_annotators(data: ba.AnnotationData, estimate: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return the mean absolute error of confusion matrices, by numbers of answers."""
    error = np.abs(estimate - truth).mean(axis=(1, 2))  # (annotator,)
    found = {}
    for low, high in pairwise(BINS):
        some = (data.by_annotator >= low) & (data.by_annotator < high)
        found[f"error {low}-{high - 1}"] = float(error[some].mean()) if some.any() else np.nan
    return found


def compare_on(seed: int, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each method makes of one crowd."""
    data, confusion = make_crowd(seed)
    votes = data.votes + 0.5
    rows = [{"method": "vote", **judge(data, votes / votes.sum(axis=1, keepdims=True))}]
    for name in ("model_b", "hierarchical_dawid_skene"):
        fit = ba.fit(name, data, random_seed=seed, progressbar=False, **settings)
        estimate = fit["posterior"]["confusion"].mean(("chain", "draw")).values
        judged = judge(data, fit["latent"]["probability"].values) | judge_annotators(data, estimate, confusion)
        found = ba.diagnostics_of(fit)
        judged |= {"max_rhat": found["max_rhat"], "min_ess": found["min_ess_bulk"]}
        rows.append({"method": name, **judged, "seconds": fit.attrs["seconds_sample"]})
    return [{"seed": seed, "answers": data.n_annotations, **row} for row in rows]


def main() -> None:
    """Compare on so many crowds, and print each and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--initvals", default="vote", help="auto looks for modes before, which takes longer")
    arguments = parser.parse_args()
    settings = {
        "chains": 2, "draws": arguments.draws, "tune": arguments.draws, "initvals": arguments.initvals,
    }  # fmt: skip
    warnings.simplefilter("ignore", ba.ConvergenceWarning)  # such short runs are warned about
    pd.set_option("display.width", 200)
    pd.set_option("display.max_columns", 20)
    rows: list[dict[str, Any]] = []
    for seed in range(1, arguments.sets + 1):
        rows += compare_on(seed, settings)
        print(pd.DataFrame(rows[-3:]).round(3).to_string(index=False, header=seed == 1), flush=True)
    table = pd.DataFrame(rows).drop(columns="seed").groupby("method")
    print("means\n", table.mean().round(3).to_string())
    scores = pd.DataFrame(rows).pivot_table(index="seed", columns="method", values=["accuracy", "log_score"])
    for what in ("accuracy", "log_score"):
        apart = scores[what]["hierarchical_dawid_skene"] - scores[what]["model_b"]
        print(f"{what}: above model_b in {(apart > 0).sum()} of {len(apart)} crowds, by {apart.mean():.3f} on average")


if __name__ == "__main__":
    main()
