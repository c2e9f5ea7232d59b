"""From how many answers to an item `shared_errors` learns how far its difficulty reaches each annotator.

    uv run python tests/benchmarks/loadings.py --labels 2 --per-item 3 5 10 20 30 --tables 3
    uv run python tests/benchmarks/loadings.py --labels 4 --per-item 3 5 10 20 30 --tables 3
    uv run python tests/benchmarks/loadings.py --labels 2 --per-item 3 --items 1000     # as many answers each as of 10

The tables come from the model: abilities ~ Normal(1.5, .7), loadings ~ LogNormal(0, .5), habits ~ Normal(0, .5),
difficulties of a standard deviation of --spread. The true labels of one item in ten are given. Of log loadings:

    r          correlation of the posterior means with the truth
    covered    the share of 94% intervals that hold the truth
    width      of these intervals, relative to the prior's
    spread_error    posterior mean of the spread less the truth

and of the labels of the other items, by each model, the share that is right and the mean log score.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import bayesanno as ba

MODELS = ("shared_errors", "item_difficulty", "model_b")
LOADING_SD = 0.5  # of log loadings, in truth and by the prior
MIDDLE = (0.03, 0.97)
PRIOR_WIDTH = 2 * 1.881 * LOADING_SD


def simulate(
    options: argparse.Namespace, per_item: int, rng: np.random.Generator
) -> tuple[ba.AnnotationData, np.ndarray]:
    """Draw a table, with the truth as gold and some of it as controls; and the loadings, (annotator,)."""
    n_items, n_labels, n_annotators = options.items, options.labels, options.annotators
    ability = rng.normal(1.5, 0.7, n_annotators)
    loading = np.exp(LOADING_SD * rng.normal(size=n_annotators))
    habit = rng.normal(0, 0.5, (n_annotators, n_labels))
    truth = rng.integers(n_labels, size=n_items)
    difficulty = options.spread * rng.normal(size=n_items)
    item = np.repeat(np.arange(n_items), per_item)
    annotator = np.concatenate([rng.choice(n_annotators, per_item, replace=False) for _ in range(n_items)])
    gain = np.log(n_labels - 1) + ability[annotator] - loading[annotator] * difficulty[item]  # (annotation,)
    logits = habit[annotator] + gain[:, None] * (truth[item][:, None] == np.arange(n_labels))  # (annotation, label)
    label = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    items, labels = [f"i{i:04}" for i in range(n_items)], [f"label {k}" for k in range(n_labels)]
    gold = {name: labels[k] for name, k in zip(items, truth.tolist(), strict=True)}
    data = ba.AnnotationData(
        item=item, annotator=annotator, label=label, items=tuple(items), labels=tuple(labels),
        annotators=tuple(f"a{j:02}" for j in range(n_annotators)), gold=gold,
        controls={name: gold[name] for name in items[: n_items // 10]},
    )  # fmt: skip
    return data, loading


def score(fit: object, data: ba.AnnotationData) -> dict[str, float]:
    """Return accuracy and mean log score of the labels that were not given."""
    rest = data.control_codes < 0
    logs, truth = fit["latent"]["log_probability"].values[rest], data.gold_codes[rest]
    at_truth = logs[np.arange(truth.size), truth]
    return {"right": float((logs.argmax(axis=1) == truth).mean()), "log_score": float(at_truth.mean())}


def judge_loadings(fit: object, loading: np.ndarray, spread: float) -> dict[str, float]:
    """Compare the posterior of log loadings with the truth."""
    draws = np.log(fit["posterior"]["loading"].stack(draws=("chain", "draw")).values)  # (annotator, draws)
    low, high = np.quantile(draws, MIDDLE, axis=1)
    truth = np.log(loading)
    return {
        "r": float(np.corrcoef(draws.mean(axis=1), truth)[0, 1]),
        "covered": float(((low <= truth) & (truth <= high)).mean()),
        "width": float((high - low).mean() / PRIOR_WIDTH),
        "spread_error": float(fit["posterior"]["spread"].mean()) - spread,
    }


def run(options: argparse.Namespace) -> pd.DataFrame:
    """Fit every model to every table; one row each."""
    rows = []
    settings = {"draws": options.draws, "tune": options.draws, "chains": 2, "progressbar": False}
    for per_item in options.per_item:
        for table in range(options.tables):
            data, loading = simulate(options, per_item, np.random.default_rng([options.seed, per_item, table]))
            for model in options.models:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fit = ba.fit(model, data, random_seed=table, initvals="vote", check=False, **settings)
                found = score(fit, data)
                if model == "shared_errors":
                    found |= judge_loadings(fit, loading, options.spread)
                rhat, seconds = ba.diagnostics_of(fit)["max_rhat"], fit.attrs["seconds_sample"]
                row = {"per_item": per_item, "table": table, "model": model, **found}
                rows.append(row | {"rhat": rhat, "seconds": seconds})
                print(pd.DataFrame(rows[-1:]).round(3).to_string(index=False, header=len(rows) == 1), flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    """Print each fit, and the means over tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--annotators", type=int, default=30)
    parser.add_argument("--labels", type=int, default=2)
    parser.add_argument("--per-item", type=int, nargs="+", default=[3, 5, 10, 20, 30])
    parser.add_argument("--spread", type=float, default=1.5, help="standard deviation of the difficulties")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    found = run(parser.parse_args())
    print(found.drop(columns="table").groupby(["per_item", "model"], sort=False).mean().round(3).to_string())


if __name__ == "__main__":
    main()
