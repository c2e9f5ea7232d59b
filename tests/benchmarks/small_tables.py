"""Labels of small tables: which model, or the vote, is right, and how sure is it.

    uv run python tests/benchmarks/small_tables.py FOLDER [--tables 200] [--by-nuts 15] [--shapes constants rare ...]

Tables with known truth are drawn in five shapes:

    constants    8 items, 5 annotators who answer all: three are right on .85, two always say "1"
    few          20 items, 3 annotators who answer all, right on .6 to .95
    rare         50 items, 5 annotators who answer all, right on .7 to .95; one item in ten is a "1"
    expert       30 items, 5 annotators who answer all: one is right on .95, four on .6
    four labels  40 items, 3 answers each by 3 of 7 annotators, right on .5 to .95; one always says "1"

The vote is that of `class_shares`, with half an answer added to each label for its log score; a tie is split evenly.
The models' labels are those of the fit, and with " adjusted" those of `adjust`; with two labels `class_conditional` is
`model_b`, and left out. For each shape: the share of right labels, the mean log score of the true ones (of one with
probability 0, log 1e-16), the errors expected and made on 100 items, and the share of tables on which fewer labels are
right than by the vote. The scores are in FOLDER/scores.csv, which an interrupted run goes on from.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesanno as ba
from bayesanno.fits.view import log_label_posterior, parts_of, view_of

BY_UPDATES = ("one_coin", "mace", "model_b", "class_conditional", "pooled_dawid_skene")
BY_NUTS = ("one_coin", "mace", "model_b", "model_a", "hierarchical_dawid_skene", "item_difficulty")
WAYS: dict[str, dict[str, Any]] = {
    "em": {"method": "em", "method_options": {"restarts": 5}},
    "vb": {"method": "vb", "method_options": {"restarts": 5}, "draws": 100, "chains": 1},
    "nuts": {"draws": 500, "tune": 500, "chains": 2},
}
IMPOSSIBLE = 1e-16


def draw_answers(rng: np.random.Generator, truth: np.ndarray, accuracy: np.ndarray, n_labels: int) -> np.ndarray:
    """Draw answers (item, annotator); an annotator whose accuracy is nan always says the last label."""
    other = (truth[:, None] + rng.integers(1, n_labels, size=(truth.size, accuracy.size))) % n_labels
    said = np.where(rng.random(other.shape) < accuracy, truth[:, None], other)
    return np.where(np.isnan(accuracy), n_labels - 1, said)


def draw_table(shape: str, seed: int) -> ba.AnnotationData:
    """Draw a table of a shape."""
    rng, labels, asked = np.random.default_rng(seed), ("0", "1"), None
    if shape == "constants":
        truth, accuracy = rng.integers(2, size=8), np.array([0.85, 0.85, 0.85, np.nan, np.nan])
    elif shape == "few":
        truth, accuracy = rng.integers(2, size=20), rng.uniform(0.6, 0.95, size=3)
    elif shape == "rare":
        truth, accuracy = (rng.random(50) < 0.1).astype(int), rng.uniform(0.7, 0.95, size=5)
    elif shape == "expert":
        truth, accuracy = rng.integers(2, size=30), np.array([0.95, 0.6, 0.6, 0.6, 0.6])
    else:
        labels, truth = ("4", "3", "2", "1"), rng.integers(4, size=40)
        accuracy = np.append(rng.uniform(0.5, 0.95, size=6), np.nan)
        asked = rng.random((40, 7)).argsort(axis=1).argsort(axis=1) < 3
    said = draw_answers(rng, truth, accuracy, len(labels))
    item, annotator = np.nonzero(np.ones(said.shape) if asked is None else asked)
    names = tuple(f"item {number}" for number in range(1, truth.size + 1))
    return ba.AnnotationData(
        item=item, annotator=annotator, label=said[item, annotator], items=names, labels=labels,
        annotators=tuple(f"annotator {number}" for number in range(1, accuracy.size + 1)),
        gold={name: labels[code] for name, code in zip(names, truth, strict=True)},
    )  # fmt: skip


def score(p: np.ndarray, data: ba.AnnotationData) -> dict[str, float]:
    """Return the scores of probabilities of labels, (item, label)."""
    tied = p > p.max(axis=1, keepdims=True) - 1e-9
    of_truth = np.arange(data.n_items), data.gold_codes
    right = tied[of_truth] / tied.sum(axis=1)
    log_score = np.log(p[of_truth].clip(IMPOSSIBLE)).mean()
    return {
        "right": right.mean(),
        "log_score": log_score,
        "expected": 100 * (1 - p.max(axis=1)).mean(),
        "made": 100 * (1 - right).mean(),
    }


def score_all(shape: str, seed: int, *, by_nuts: bool) -> Iterator[dict[str, Any]]:
    """Yield the scores of every way to label a table."""
    data = draw_table(shape, seed)
    votes = np.zeros((data.n_items, data.n_labels))
    np.add.at(votes, (data.item, data.label), 1)
    yield {"way": "vote"} | score((votes + 0.5) / (votes + 0.5).sum(axis=1, keepdims=True), data)
    for way, settings in WAYS.items():
        for model in BY_NUTS if way == "nuts" else BY_UPDATES:
            if (way == "nuts" and not by_nuts) or (model == "class_conditional" and data.n_labels == 2):
                continue
            fit = ba.fit(model, data, random_seed=seed, progressbar=False, check=way == "nuts", **settings)
            for name, one in (("", fit), (" adjusted", ba.adjust(fit))) if way == "nuts" else (("", fit),):
                (part,) = parts_of(view_of(one))
                yield {"way": f"{model}, {way}{name}"} | score(np.exp(log_label_posterior(part)), data)


def main() -> None:
    """Draw, fit and score the tables, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--by-nuts", type=int, default=15)
    parser.add_argument("--shapes", nargs="+", default=["constants", "few", "rare", "expert", "four labels"])
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True, parents=True)
    path = options.folder / "scores.csv"
    done = set(pd.read_csv(path)[["shape", "seed"]].itertuples(index=False, name=None)) if path.exists() else set()
    for seed in range(options.tables):
        for shape in options.shapes:
            if (shape, seed) not in done:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows = pd.DataFrame(score_all(shape, seed, by_nuts=seed < options.by_nuts))
                rows = rows.assign(shape=shape, seed=seed)
                rows.to_csv(path, mode="a", index=False, header=not path.exists())
    print(summarise(pd.read_csv(path)).to_string(index=False, float_format="{:.3f}".format))


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the means by shape and way, beside those of the vote on the same tables."""
    vote = scores[scores["way"] == "vote"].set_index(["shape", "seed"])["right"].rename("vote")
    scores = scores.join(vote, on=["shape", "seed"])
    scores["below_vote"] = scores["right"] < scores["vote"] - 1e-9
    means = scores.groupby(["shape", "way"], sort=False).agg(
        tables=("seed", "size"), right=("right", "mean"), vote=("vote", "mean"), log_score=("log_score", "mean"),
        expected=("expected", "mean"), made=("made", "mean"), below_vote=("below_vote", "mean"),
    )  # fmt: skip
    return means.reset_index()


if __name__ == "__main__":
    main()
