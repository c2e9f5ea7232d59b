"""How sure labels are, and how sure they should be, on real tables with true labels.

    uv run python tests/benchmarks/sureness.py @crowd @rte @temporal @wsd [TABLE.csv ...]

A table has the columns item, annotator, label, gold; each named one comes with the package or is fetched. The script
fits each model by each method and compares its labels with the truth:

    temperature      the number that makes the true labels most probable when the log odds of the labels are divided
                     by it; 1 where labels are as sure as they should be
    log_score        the mean log score of the true labels; tempered is the same after that division
    expected, made   the wrong labels that the probabilities predict, and those found; a tie is split evenly
    sure             labels that are more probable than .99; sure_wrong is how many of them are wrong
    r, worth         from the fit alone: how errors on an item correlate, and how many independent answers an item's
                     answers are worth

The prefix model_ marks the scores of the model's own labels, before the adjustment for correlated errors. The model
"vote" is a smoothed vote, which adds half an answer to each label. NUTS also gives elpd by PSIS-LOO, R-hat and seconds.
With --controls 0.1 one true label in ten is given to the model, and scores are those of the other items. By EM, MACE's
competences climb towards 0 and 1, and so do probabilities of labels. Its temperature and log score therefore depend on
where the climb stops (``tolerance``); compare sure and sure_wrong instead.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from arviz_stats import loo
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

import bayesanno as ba

MODELS = ("vote", "model_b", "mace", "hierarchical_dawid_skene", "item_difficulty", "shared_errors")
METHODS = {"em": {"method_options": {"objective": "map"}}, "vb": {}, "nuts": {"draws": 500, "tune": 500}}
MOST_TEMPERATURE = 1000.0
SURE = 0.99
IMPOSSIBLE = np.log(1e-16)  # what EM makes of a label that a perfect annotator did not give


def read(source: str) -> ba.AnnotationData:
    """Read a table; gold that nobody said is left out, since no label can be that."""
    if source.startswith("@"):
        return ba.read_annotations(source)
    table = pd.read_csv(source, dtype=str, keep_default_na=False)
    data = ba.read_annotations(table[["item", "annotator", "label"]])
    known = table[(table["gold"] != "") & table["gold"].isin(data.labels)].groupby("item")["gold"].first()
    return replace(data, gold=known.to_dict())


def control(data: ba.AnnotationData, share: float, seed: int) -> ba.AnnotationData:
    """Give the true labels of a share of the items that have one."""
    known = [item for item in data.items if item in data.gold]
    given = np.random.default_rng(seed).choice(known, round(share * len(known)), replace=False)
    return replace(data, controls={item: data.gold[item] for item in given.tolist()})


def score_all(fit: object, data: ba.AnnotationData) -> dict[str, float]:
    """Return the scores of the fit's labels, and of the model's own."""
    own = fit["latent"]["log_probability"].values
    given = fit["labels"]["log_probability"].values if "labels" in fit.children else own
    return score(given, data) | {f"model_{name}": value for name, value in score(own, data).items()}


def score_vote(data: ba.AnnotationData) -> dict[str, float]:
    """Return the scores of a smoothed vote."""
    votes = data.votes[:, data.class_codes] + 0.5
    return score(np.log(votes / votes.sum(axis=1, keepdims=True)), data)


def score(log_p: np.ndarray, data: ba.AnnotationData) -> dict[str, float]:
    """Compare log probabilities (item, label) with the truth, where it is known and was not given."""
    known = (data.gold_codes >= 0) & (data.control_codes < 0)
    log_p, truth = log_p[known], data.gold_codes[known]
    rows = np.arange(truth.size)
    held = np.where(np.isneginf(log_p), IMPOSSIBLE, log_p)

    def log_score(log_temperature: float) -> float:
        scaled = held / np.exp(log_temperature)
        return float(log_softmax(scaled, axis=1)[rows, truth].mean())

    best = minimize_scalar(lambda t: -log_score(t), bounds=(np.log(0.1), np.log(MOST_TEMPERATURE)), method="bounded")
    p = np.exp(log_p)
    best_p = p.max(axis=1)
    tied = p == best_p[:, None]  # (item, label)
    wrong = 1 - tied[rows, truth] / tied.sum(axis=1)
    return {
        "temperature": float(np.exp(best.x)),
        "log_score": log_score(0.0),
        "tempered": -float(best.fun),
        "expected": float((1 - best_p).sum()),
        "made": float(wrong.sum()),
        "accuracy": float(1 - wrong.mean()),
        "sure": int((best_p > SURE).sum()),
        "sure_wrong": float(wrong[best_p > SURE].sum()),
    }


def sampled(fit: object) -> dict[str, float]:
    """Return how well a fit by NUTS predicts answers and was sampled."""
    if fit.attrs["yields"] != "mcmc":
        return {}
    return {
        "elpd": float(loo(fit).elpd),
        "rhat": ba.diagnostics_of(fit)["max_rhat"],
        "ess": ba.diagnostics_of(fit)["min_ess_bulk"],
        "seconds": fit.attrs["seconds_sample"],
    }


def look(fit: object) -> dict[str, object]:
    """Return what the fit saw of itself, without true labels."""
    found = ba.diagnostics_of(fit).get("misfit")
    if not found:
        return {}
    errors, votes, pairs = found[0].get("errors", {}), found[0]["votes"], found[0].get("pairs", {})
    return {
        "r": errors.get("correlation", np.nan) - errors.get("expected", np.nan),
        "z": errors.get("z", np.nan),
        "answers": errors.get("n_answers", np.nan),
        "worth": errors.get("worth", np.nan),
        "votes_p": votes["p"],
        "pairs": pairs.get("close", 0),
    }


def run(options: argparse.Namespace) -> pd.DataFrame:
    """Fit every model to every table by every method; one row each."""
    rows = []
    for source in options.tables:
        data = control(read(source), options.controls, options.seed)
        name = source.split("/")[-1].split(".")[0]
        for model in options.models:
            if model == "vote":
                rows.append({"table": name, "model": model} | score_vote(data))
                continue
            for method in options.methods:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        settings = METHODS[method] | {"random_seed": options.seed, "progressbar": False}
                        fit = ba.fit(model, data, method=method, **settings)
                    except ba.BayesannoError:  # a model without updates
                        continue
                warned = any(one.category is ba.MisfitWarning for one in caught)
                rows.append(
                    {"table": name, "model": model, "method": method}
                    | score_all(fit, data)
                    | sampled(fit)
                    | look(fit)
                    | {"warned": warned}
                )
                print(pd.DataFrame(rows[-1:]).to_string(index=False, header=len(rows) == 1), flush=True)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--controls", type=float, default=0.0, help="the share of true labels that is given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="a CSV file")
    options = parser.parse_args()
    found = run(options)
    print(found.round(3).to_string(index=False))
    if options.out:
        found.to_csv(options.out, index=False)
