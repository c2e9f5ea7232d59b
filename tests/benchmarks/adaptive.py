"""Answers asked for where they tell most: what that does to estimates of annotators, and to how sure labels are.

    uv run python tests/benchmarks/adaptive.py --model model_b --method vb --tables 10

300 items with three answers each of 20 annotators get 600 more: as `suggest_annotations` says, at most 60 of each
annotator, or two to each item. Annotators are right with probabilities of their own ("alike"), or all with .95 about
easy items and .6 about hard ones, 40% of them ("unequal"). Means over tables:

    accuracy    the mean of the annotators' accuracies, as estimated; and the true one, over all items
    sure        the mean probability of the best labels; and the share of them that are right
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import bayesanno as ba

N_ITEMS, N_ANNOTATORS, LABELS = 300, 20, ("no", "yes")
ITEMS, ANNOTATORS = [f"s{i}" for i in range(N_ITEMS)], [f"a{j}" for j in range(N_ANNOTATORS)]


def make_world(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the true labels (item,), what annotators would answer (item, annotator), and their mean accuracy."""
    truth = rng.integers(2, size=N_ITEMS)
    if kind == "unequal":
        accuracy = np.repeat(np.where(rng.uniform(size=(N_ITEMS, 1)) < 0.4, 0.6, 0.95), N_ANNOTATORS, axis=1)
    else:
        accuracy = np.repeat(rng.beta(8, 2, size=(1, N_ANNOTATORS)), N_ITEMS, axis=0)
    right = rng.uniform(size=accuracy.shape) < accuracy
    return truth, np.where(right, truth[:, None], 1 - truth[:, None]), float(accuracy.mean())


def look(pairs: np.ndarray, answers: np.ndarray, truth: np.ndarray, **fitting: object) -> tuple[object, list[float]]:
    """Fit the answers of some pairs (item, annotator); return the fit, and what is measured."""
    records = [(ITEMS[i], ANNOTATORS[j], LABELS[answers[i, j]]) for i, j in np.argwhere(pairs)]
    fit = ba.fit(data=ba.AnnotationData.from_records(records, items=ITEMS, labels=LABELS), **fitting)
    labels = ba.label_table(fit).set_index("item").loc[ITEMS]
    right = (labels["label"] == [LABELS[code] for code in truth]).mean()
    return fit, [ba.annotator_table(fit)["competence_mean"].mean(), labels["probability"].mean(), right]


def main() -> None:
    """Simulate, ask in both ways, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="model_b")
    parser.add_argument("--method", default="vb")
    parser.add_argument("--tables", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    fitting = {"model": given.model, "method": given.method, "random_seed": 1, "progressbar": False, "check": False}
    if given.method == "nuts":
        fitting |= {"draws": 300, "tune": 300, "chains": 2}
    rows = []
    for kind in ("alike", "unequal"):
        for seed in range(given.tables):
            rng = np.random.default_rng(seed)
            truth, answers, accuracy = make_world(kind, rng)
            order = rng.permuted(np.tile(np.arange(N_ANNOTATORS), (N_ITEMS, 1)), axis=1)
            before, evenly = order < 3, order < 5
            fit, found = look(before, answers, truth, **fitting)
            rows.append((kind, "before", *found, accuracy))
            ask = ba.suggest_annotations(fit, 2 * N_ITEMS, per_annotator=60, random_seed=1)
            suggested = before.copy()
            suggested[[ITEMS.index(i) for i in ask["item"]], [ANNOTATORS.index(j) for j in ask["annotator"]]] = True
            rows += [
                (kind, way, *look(pairs, answers, truth, **fitting)[1], accuracy)
                for way, pairs in (("suggested", suggested), ("evenly", evenly))
            ]
        table = pd.DataFrame(rows, columns=["items", "answers", "accuracy", "sure", "right", "true_accuracy"])
        print(table.groupby(["items", "answers"]).mean().round(3).to_string(), flush=True)


if __name__ == "__main__":
    main()
