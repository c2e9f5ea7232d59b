"""Simulated tables with hard items: the labels of `item_difficulty` against those of other models and of the vote.

    uv run python tests/benchmarks/hard_items.py --tables 20

Annotators are right on easy items with a probability of their own, and on hard ones nearly as if they guessed. The
tables come from no model of the zoo: an item is hard or it is not. What is compared is the share of labels that are
right, the mean log probability of the true label, and how well the expected difficulty tells the hard items from the
easy ones (the area under the ROC curve; for the other models by the entropy of the labels).
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import bayesanno as ba

LABELS = ("a", "b", "c")
MODELS = {name: (name, {}) for name in ("item_difficulty", "model_b", "one_coin", "mace")}
MODELS["without habits"] = ("item_difficulty", {"habits": False})  # which these annotators do not have


def simulate(options: argparse.Namespace, rng: np.random.Generator) -> tuple[ba.AnnotationData, np.ndarray, np.ndarray]:
    """Draw a table; which items are hard, and the codes of the true labels."""
    n_items, n_labels = options.items, len(LABELS)
    truth = rng.integers(n_labels, size=n_items)
    hard = rng.uniform(size=n_items) < options.hard
    able = rng.beta(*options.accuracy, size=options.annotators)
    item = np.repeat(np.arange(n_items), options.per_item)
    annotator = np.concatenate(
        [rng.choice(options.annotators, options.per_item, replace=False) for _ in range(n_items)]
    )
    chance = 1 / n_labels
    p_right = np.where(hard[item], chance + options.kept * (able[annotator] - chance), able[annotator])
    wrong = (truth[item] + rng.integers(1, n_labels, size=item.size)) % n_labels
    label = np.where(rng.uniform(size=item.size) < p_right, truth[item], wrong)
    names = tuple(f"a{i:02}" for i in range(options.annotators))
    items = tuple(f"i{i:04}" for i in range(n_items))
    data = ba.AnnotationData(item=item, annotator=annotator, label=label, items=items, annotators=names, labels=LABELS)
    return data, hard, truth


def score(probability: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return accuracy and mean log score of labels, (item, label); of equal labels each counts its share."""
    best = np.isclose(probability, probability.max(axis=1, keepdims=True))
    right = best[np.arange(truth.size), truth] / best.sum(axis=1)
    with np.errstate(divide="ignore"):
        log_score = np.log(probability[np.arange(truth.size), truth]).mean()
    return {"accuracy": float(right.mean()), "log_score": float(log_score)}


def run(options: argparse.Namespace) -> pd.DataFrame:
    """Fit every model to every table; one row per table and model."""
    rows = []
    settings = {"draws": 400, "tune": 400, "chains": 2, "progressbar": False}
    for table in range(options.tables):
        data, hard, truth = simulate(options, np.random.default_rng([options.seed, table]))
        rows.append({"table": table, "model": "vote", **score(data.vote_shares, truth)})
        for model in MODELS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = ba.fit(ba.get_model(*MODELS[model]), data, random_seed=table, **settings)
            latent = fit["latent"]
            sign = latent["difficulty" if "difficulty" in latent else "entropy"].values
            found = score(latent["probability"].values, truth)
            rows.append({"table": table, "model": model, **found, "auc": roc_auc_score(hard, sign)})
            print(pd.DataFrame(rows[-1:]).to_string(header=False), flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    """Print the mean of each score, with its standard error, and of the differences to `item_difficulty`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--annotators", type=int, default=40)
    parser.add_argument("--per-item", type=int, default=5)
    parser.add_argument("--hard", type=float, default=1 / 3, help="share of hard items")
    parser.add_argument("--kept", type=float, default=0.3, help="what of being above chance is left on hard items")
    parser.add_argument("--accuracy", type=float, nargs=2, default=(6.0, 1.5), help="Beta prior on easy items")
    parser.add_argument("--seed", type=int, default=1)
    found = run(parser.parse_args())
    wide = found.pivot(index="table", columns="model")
    print(pd.DataFrame({"mean": wide.mean(), "se": wide.sem()}).round(4).to_string())
    for what in ("accuracy", "log_score"):
        of = wide[what]
        gain = of["item_difficulty"].to_numpy()[:, None] - of.drop(columns="item_difficulty")
        rows = pd.DataFrame({"mean": gain.mean(), "se": gain.sem()}).round(4)
        print(f"\n{what}: item_difficulty minus the others\n{rows}")


if __name__ == "__main__":
    main()
