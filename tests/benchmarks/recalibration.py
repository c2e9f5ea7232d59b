"""Recalibration by few true labels, on tables with gold: are labels honest afterwards, where they were far too sure?

    uv run python tests/benchmarks/recalibration.py --draws 10
    uv run python tests/benchmarks/recalibration.py --models shared_errors --methods nuts --samples 250 --chains 2

A model, by default model B, by EM (objective "map") and by NUTS, of @crowd, which is simulated, and of the tables in
../shared/data that are there. 20, 50 and 100 known labels are drawn at random, again and again; all numbers are of the
other items, mean over draws:

    before, after    log score of the true label, by the fit and recalibrated
    shares           log score by how frequent labels are among the known ones alone, one added to each count
    T                temperature, posterior mean; of that the median over draws
    wrong, said      the share of labels that are wrong, and what the probabilities say that it is: the mean of 1 - p
    z                the root mean square of their difference, in standard errors of so few known and other items:
                     about 1 if probabilities are honest
    seconds          of one recalibration
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import bayesanno as ba
from bayesanno.analysis.labels import label_table

DATA = Path(__file__).parents[3] / "shared" / "data"
TABLES = ("rte.csv", "temp.csv", "wsd.csv", "dices_350.csv.gz", "llmbar.csv.gz")
UNSURE = "Unsure"  # no label, in the tables that have it
N_KNOWN = (20, 50, 100)


def read_tables(names: list[str]) -> Iterator[tuple[str, ba.AnnotationData]]:
    """Yield tables with gold, by name."""
    for name in ("@crowd", *TABLES):
        short = name.partition(".")[0]
        if names and short not in names:
            continue
        if name == "@crowd":
            yield short, ba.read_annotations(name)
        elif (DATA / name).is_file():
            table = pd.read_csv(DATA / name, dtype=str, keep_default_na=False)
            table = table[table["label"] != UNSURE]
            data = ba.read_annotations(table[["item", "annotator", "label"]])
            gold = table[table["gold"].isin(data.labels)].groupby("item")["gold"].first()
            yield short, replace(data, gold={str(item): str(label) for item, label in gold.items()})


def fit_table(model: str, data: ba.AnnotationData, method: str, samples: int, chains: int) -> object:
    """Fit a model."""
    sampling = {"draws": samples, "tune": samples, "chains": chains}
    options = {"method_options": {"objective": "map"}} if method == "em" else sampling
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ba.ConvergenceWarning)  # of a few of hundreds of annotators
        return ba.fit(model, data, method=method, random_seed=1, progressbar=False, adjust=False, **options)


def judge(fit: object, gold: dict[str, str], n_known: int, seed: int) -> dict[str, float]:
    """Return how the labels of other items are, before and after recalibration by some of the gold."""
    order = np.random.default_rng(seed).permutation(sorted(gold)).tolist()
    known, others = {item: gold[item] for item in order[:n_known]}, order[n_known:]
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ba.errors.PredictionWarning)  # where labels carry nothing: that is seen below
        done = ba.recalibrate(fit, known)
    seconds = time.perf_counter() - begin
    before, after = (_score(one, gold, others) for one in (fit, done))
    labels = ba.data_of(fit).classes
    counts = pd.Series(known).value_counts().reindex(labels, fill_value=0) + 1
    shares = np.log(counts / counts.sum())[[gold[item] for item in others]].mean()
    table = label_table(done).set_index("item").loc[others]
    said, wrong = 1 - table["probability"], table["label"] != table["gold"]
    error = np.sqrt((said * (1 - said)).mean() * (1 / n_known + 1 / len(others)))
    temperature = ba.recalibration_table(done)["mean"][0]
    return {
        "before": before, "shares": shares, "after": after, "T": temperature, "wrong": wrong.mean(),
        "said": said.mean(), "z": (wrong.mean() - said.mean()) / error, "seconds": seconds,
    }  # fmt: skip


def _score(fit: object, gold: dict[str, str], items: list[str]) -> float:
    """Return the mean log score of items, by the logs that the fit holds: probabilities may be 0 as doubles."""
    logs = fit["labels" if "labels" in fit.children else "latent"]["log_probability"].to_pandas()
    return float(np.mean([logs.at[item, gold[item]] for item in items]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10, help="of the known labels")
    parser.add_argument("--tables", nargs="*", default=[])
    parser.add_argument("--models", nargs="+", default=["model_b"])
    parser.add_argument("--methods", nargs="*", default=["em", "nuts"])
    parser.add_argument("--samples", type=int, default=500, help="draws of each chain, and tuning steps, of NUTS")
    parser.add_argument("--chains", type=int, default=4)
    asked = parser.parse_args()
    rows = []
    for name, data in read_tables(asked.tables):
        for model, method in product(asked.models, asked.methods):
            fit = fit_table(model, data, method, asked.samples, asked.chains)
            for n_known in N_KNOWN:
                each = pd.DataFrame([judge(fit, dict(data.gold), n_known, seed) for seed in range(asked.draws)])
                row = each.mean().to_dict() | {"T": each["T"].median(), "z": np.sqrt((each["z"] ** 2).mean())}
                rows.append({"table": name, "model": model, "method": method, "known": n_known, **row})
                print(pd.DataFrame(rows[-1:]).round(3).to_string(index=False, header=len(rows) == 1), flush=True)
    print(pd.DataFrame(rows).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
