"""Replays: how many answers are needed to the same accuracy, when they are asked for in four ways.

    uv run python tests/benchmarks/replays.py --tables rte temp wsd --seeds 10

Of a table with many answers per item two of each item are kept, at random; the others are revealed in batches of one
answer in twenty, as they are asked for:

    suggest    by `suggest_annotations`, for information
    entropy    an item with the largest entropy, by any annotator who has answered it, at most one answer a batch
    even       an item with the fewest answers, by any annotator
    random     any answer

until four fifths are there, and the model is fitted again after each batch, by VB. The accuracy is that of labels
against gold or, of tables without any, the share of labels that are those of the fit to all answers.

Printed per table and way, means over seeds: accuracy at the beginning and at a quarter, a third, a half and two thirds
of all answers; `needed`, the answers at which the accuracy of random choice at two thirds is reached (of the mean
curve, interpolated), as a share of two thirds; and seconds per batch.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import bayesanno as ba

DATA = Path(__file__).parents[3] / "shared" / "data"
WAYS = ("suggest", "entropy", "even", "random")
BEGIN, BATCH, END = 2, 1 / 20, 0.8
SHOWN = (1 / 4, 1 / 3, 1 / 2, 2 / 3)


def read_table(name: str) -> tuple[ba.AnnotationData, dict[str, str]]:
    """Read a table, and its gold if it has any."""
    table = pd.read_csv(DATA / f"{name}.csv", dtype=str, keep_default_na=False).drop_duplicates(["item", "annotator"])
    data = ba.read_annotations(table[["item", "annotator", "label"]])
    if "gold" not in table:
        return data, {}
    gold = table[table["gold"].isin(data.labels)].groupby("item")["gold"].first()
    return data, {str(item): str(label) for item, label in gold.items()}


def fit_labels(model: str, data: ba.AnnotationData) -> tuple[object, pd.DataFrame]:
    """Fit the model by VB; return the fit and its labels by item."""
    fit = ba.fit(model, data, method="vb", random_seed=1, progressbar=False, check=False)
    return fit, ba.label_table(fit).set_index("item")


def take(data: ba.AnnotationData, shown: np.ndarray) -> ba.AnnotationData:
    """Return the answers that are shown, with all items and annotators."""
    return replace(data, item=data.item[shown], annotator=data.annotator[shown], label=data.label[shown])


def choose(way: str, data: ba.AnnotationData, fit: object, shown: np.ndarray, n: int, rng: np.random.Generator) -> list:
    """Return the positions of the next answers."""
    hidden = rng.permutation(np.flatnonzero(~shown))
    if way == "random":
        return list(hidden[:n])
    if way == "suggest":
        place = {(i, j): at for at, (i, j) in enumerate(zip(data.item, data.annotator, strict=True))}
        pairs = pd.DataFrame(
            {
                "item": [data.items[i] for i in data.item[hidden]],
                "annotator": [data.annotators[j] for j in data.annotator[hidden]],
            }
        )
        ask = ba.suggest_annotations(fit, n, among=pairs, random_seed=1)
        item_at, annotator_at = ({name: at for at, name in enumerate(names)} for names in (data.items, data.annotators))
        return [place[item_at[i], annotator_at[j]] for i, j in zip(ask["item"], ask["annotator"], strict=True)]
    given = np.bincount(data.item[shown], minlength=data.n_items)
    if way == "entropy":
        entropy = ba.label_table(fit)["entropy"].to_numpy()
        first = {}
        for at in hidden:
            first.setdefault(data.item[at], at)
        return [first[i] for i in sorted(first, key=lambda i: -entropy[i])[:n]]
    chosen = []  # evenly: the k-th hidden answer of an item comes after k more
    rank = pd.Series(data.item[hidden]).groupby(data.item[hidden]).cumcount().to_numpy() + given[data.item[hidden]]
    chosen.extend(hidden[np.argsort(rank, kind="stable")][:n])
    return chosen


def replay(model: str, data: ba.AnnotationData, truth: dict[str, str], way: str, seed: int) -> pd.DataFrame:
    """Return accuracies by how many answers are shown."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(data.n_annotations)
    shown = np.zeros(data.n_annotations, dtype=bool)
    rank = pd.Series(data.item[order]).groupby(data.item[order]).cumcount().to_numpy()
    shown[order] = rank < BEGIN
    rows, n = [], max(1, round(BATCH * data.n_annotations))
    while True:
        begin = time.perf_counter()
        fit, labels = fit_labels(model, take(data, shown))
        right = np.mean([labels["label"][item] == label for item, label in truth.items()])
        if shown.mean() >= END:
            return pd.DataFrame([*rows, (shown.mean(), right, np.nan)], columns=["share", "accuracy", "seconds"])
        chosen = choose(way, data, fit, shown, n, rng)
        rows.append((shown.mean(), right, time.perf_counter() - begin))
        shown[chosen] = True


def main() -> None:
    """Replay the tables and print what was needed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["rte", "temp", "wsd"])
    parser.add_argument("--model", default="model_b")
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.tables:
        data, gold = read_table(name)
        truth = gold or fit_labels(given.model, data)[1]["label"].to_dict()
        of_all = fit_labels(given.model, data)[1]["label"]
        right = np.mean([of_all[item] == label for item, label in truth.items()])
        print(f"{name}: {data.describe()}; {given.model} has {right:.3f} right with all", flush=True)
        curves = {}
        for way in WAYS:
            curves[way] = pd.concat([replay(given.model, data, truth, way, seed) for seed in range(given.seeds)])
        grid = np.linspace(0, END, 401)
        mean = {
            way: np.mean([np.interp(grid, c["share"], c["accuracy"]) for c in split(curve)], axis=0)
            for way, curve in curves.items()
        }
        goal = np.interp(2 / 3, grid, mean["random"])
        for way in WAYS:
            begin = curves[way]["share"].min()
            at = [mean[way][np.argmin(abs(grid - share))] for share in (begin, *SHOWN)]
            reached = np.flatnonzero((mean[way] >= goal) & (grid >= begin))
            needed = grid[reached[0]] / (2 / 3) if reached.size else np.inf
            seconds = curves[way]["seconds"].mean()
            accuracies = " ".join(f"{value:.3f}" for value in at)
            print(f"  {way:8} {accuracies}  needed {needed:.2f}  {seconds:.2f} s", flush=True)


def split(curve: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the curve of each seed."""
    return [part for _, part in curve.groupby((curve["share"].diff() < 0).cumsum())]


if __name__ == "__main__":
    main()
