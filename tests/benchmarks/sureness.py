"""How sure labels are, and how sure they should be: without adjustment, and with it, on the same fits.

    uv run python tests/benchmarks/sureness.py FOLDER [--methods em vb nuts] [--kinds real drawn turned]

Three kinds of tables with true labels are fitted:

    real    the tables of ../shared/data; of large ones, random items with about 20,000 answers
    drawn   tables drawn from the models themselves, each fitted by its own model
    turned  600 items with five answers each, where annotators turn one label into another, a tenth or three tenths of
            the time, whatever else they answer

Each table is fitted once by each model and method. The fits' logs and checks are kept in the folder, so that an
interrupted run goes on, and rules can be compared again without fitting. The rules:

    none           the model's own labels
    2% of a vote   the contamination prior alone
    before         the rule before: a logistic switch for b, a pair of copies switches the whole table, two thirds of
                   the tempered labels are a vote, a steeper slope for a
    this           the rule of `bayesanno.inference.tempering`

For each rule and kind of table: the mean log score of the true labels (of a label with probability 0, log 1e-16);
errors expected over errors made, summed over tables; the share of tables where labels are worse by more than .01 than
without adjustment. Then, of the checks of fits: the standard deviation of z, the unevenness of agreement, and the
weights a and b.
"""

from __future__ import annotations

import argparse
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import bayesanno as ba
from bayesanno.fits.view import log_label_posterior, parts_of, view_of
from bayesanno.inference.diagnosis.misfit import Misfit, measure_misfit
from bayesanno.inference.tempering import LEAST_VOTE, MOST_SHARE, Tempering
from bayesanno.simulation.quantities import ModelDraws

DATA = Path(__file__).parents[3] / "shared" / "data"
TABLES = ("rte", "temp", "wsd", "dices_350", "llmbar", "dog", "possent", "sp", "zencrowd", "trec", "factual")
MODELS = ("model_b", "mace", "hierarchical_dawid_skene")
METHODS = {"em": {"method_options": {"objective": "map"}}, "vb": {}, "nuts": {"draws": 300, "tune": 300, "chains": 2}}
MOST_ANSWERS = 20_000
N_DRAWN = 14  # tables drawn from each model
TURNED = (0.1, 0.3)
N_TURNED = 6  # tables for each share
IMPOSSIBLE = 1e-16
HARM = 0.01


# ------------------------------------------------------------------------------------------------------- the tables


def list_tables(kinds: list[str]) -> Iterator[tuple[str, str, Callable[[], ba.AnnotationData], tuple[str, ...]]]:
    """Yield kind, name and models of each table, and how it is made."""
    for name in TABLES if "real" in kinds else ():
        yield "real", name, partial(read_table, name), MODELS
    for model, seed in product(MODELS, range(N_DRAWN if "drawn" in kinds else 0)):
        yield "drawn", f"{model}-{seed}", partial(draw_table, model, seed), (model,)
    for share, seed in product(TURNED, range(N_TURNED if "turned" in kinds else 0)):
        yield f"turned {share}", f"turned-{share}-{seed}", partial(turn_table, share, seed), ("mace", "model_b")


def read_table(name: str) -> ba.AnnotationData:
    """Read a table with gold; of a large one, keep items with gold first, then others, at random."""
    (path,) = (DATA / f"{name}.csv{end}" for end in ("", ".gz") if (DATA / f"{name}.csv{end}").is_file())
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if len(table) > MOST_ANSWERS:
        items = table.groupby("item", sort=False).agg(gold=("gold", "first"), n=("label", "size"))
        items = items.sample(frac=1, random_state=1)
        items = items.iloc[(items["gold"] == "").argsort(kind="stable")]
        table = table[table["item"].isin(items.index[items["n"].cumsum() <= MOST_ANSWERS])]
    data = ba.read_annotations(table[["item", "annotator", "label"]])
    known = table[table["gold"].isin(data.labels)].groupby("item")["gold"].first()  # a label that nobody gave is none
    return replace(data, gold=known.to_dict())


def draw_table(model: str, seed: int) -> ba.AnnotationData:
    """Draw a table from the prior of a model."""
    rng = np.random.default_rng(seed)
    design = ba.make_design(
        items=int(rng.integers(80, 400)),
        annotators=int(rng.integers(6, 25)),
        labels=int(rng.integers(2, 6)),
        per_item=(2, int(rng.integers(3, 7))),
        random_seed=seed,
    )
    return ba.simulate(model, design, random_seed=seed)[0]


def turn_table(share: float, seed: int) -> ba.AnnotationData:
    """Draw a table in which annotators turn a share of one label into another."""
    rng = np.random.default_rng(seed)
    labels = ("a", "b", "c", "d")
    design = ba.make_design(items=600, annotators=30, labels=labels, per_item=5, random_seed=seed)
    truth = rng.integers(4, size=600)  # (item,)
    accuracy, own = rng.uniform(0.7, 0.95, size=30), truth[design.item]
    said = np.where(
        rng.random(own.size) < accuracy[design.annotator], own, (own + rng.integers(1, 4, size=own.size)) % 4
    )
    said = np.where((said == 0) & (rng.random(own.size) < share), 1, said)
    return replace(
        design, label=said, gold={item: labels[code] for item, code in zip(design.items, truth, strict=True)}
    )


# ---------------------------------------------------------------------------------------------------------- the fits


def fit_table(data: ba.AnnotationData, model: str, method: str) -> dict[str, Any] | None:
    """Return what rules need of a fit; None for a model without that method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = METHODS[method] | {"random_seed": 1, "progressbar": False, "check": False}
        try:
            fit = ba.fit(model, replace(data, gold={}), method=method, **settings)
        except ba.FitError:
            return None
        view = view_of(fit)
        (part,) = parts_of(view)
        (misfit,) = measure_misfit(ModelDraws(view.model, view.data, view.posterior, view.known), [part], 1)
    return {"logs": log_label_posterior(part), "data": data, "misfit": misfit}


def read_fits(options: argparse.Namespace) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield what each fit is of, and what rules need of it; fit what is not in the folder."""
    options.folder.mkdir(exist_ok=True)
    for method in options.methods:
        for kind, name, make, models in list_tables(options.kinds):
            for model in models:
                path = options.folder / f"{name}.{model}.{method}.pickle"
                if not path.exists() and not options.no_fits:
                    path.write_bytes(pickle.dumps(fit_table(make(), model, method)))
                found = pickle.loads(path.read_bytes()) if path.exists() else None
                if found is not None:
                    yield {"kind": kind, "table": name, "model": model, "method": method}, found


# --------------------------------------------------------------------------------------------------------- the rules


def apply_rules(found: dict[str, Any]) -> tuple[dict[str, np.ndarray], Tempering]:
    """Return the log probabilities of labels (item, label) by each rule, and the adjustment."""
    logs, data = found["logs"], found["data"]
    this = Tempering.from_check(logs, found["misfit"], data.n_annotators)
    answers = this.count(data.item, data.annotator, data.label, data.names_class, data.n_items)
    no_copies = answers._replace(copied=np.zeros(data.n_items))
    vote, before = replace(this, weight=0.0, vote_weight=LEAST_VOTE), weigh_as_before(this, found["misfit"])
    return {
        "none": logs,
        "2% of a vote": vote.average(logs, no_copies),
        "before": before.average(logs, no_copies),
        "this": this.average(logs, answers),
    }, this


def weigh_as_before(this: Tempering, misfit: Misfit) -> Tempering:
    """Return the adjustment by the rule before: evidence switches, and two thirds of the tempered labels are a vote."""
    errors, votes = misfit.found.get("errors", {"z": 0.0, "n_answers": 1.0}), misfit.found["votes"]
    r = np.zeros(1) if misfit.errors is None else misfit.errors.correlation.clip(0, 1)
    b = expit(max(0.0, errors["z"]) ** 2 / 2 - 5) * min(1.0, max(0.0, (errors["n_answers"] - 1) * r.mean() / 0.1))
    if misfit.copies is not None and errors["z"] > -2:
        b = 1.0
    off = abs(votes["observed"] - votes["predicted"]) * this.log_share.size
    a = max(LEAST_VOTE, 0.2 * expit(6 * (votes["spread"] - 2.5)) * min(1.0, off / 0.1))
    return replace(this, correlation=r, weight=float(b), vote_weight=float(a), vote_share=MOST_SHARE)


def score(logs: np.ndarray, data: ba.AnnotationData) -> dict[str, float]:
    """Return the mean log score of true labels, and the errors expected and made on their items."""
    known = data.gold_codes >= 0
    p, truth = np.exp(logs[known]), data.gold_codes[known]
    best = p.max(axis=1)
    tied = p == best[:, None]  # (item, label)
    wrong = 1 - tied[np.arange(truth.size), truth] / tied.sum(axis=1)
    return {
        "log_score": np.log(p[np.arange(truth.size), truth].clip(IMPOSSIBLE)).mean(),
        "expected": (1 - best).sum(),
        "made": wrong.sum(),
    }


def compare(options: argparse.Namespace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the scores of each rule for each fit, and what the check of each fit found."""
    scores, checks = [], []
    for of, found in read_fits(options):
        rules, this = apply_rules(found)
        scores += [of | {"rule": rule} | score(logs, found["data"]) for rule, logs in rules.items()]
        check = found["misfit"].found
        errors = check.get("errors", {})
        uneven = errors.get("unevenness", {"observed": np.nan, "expected": np.nan})
        seen = {"z": errors.get("z", np.nan), "uneven": uneven["observed"] - uneven["expected"]}
        checks.append(of | seen | {"spread": check["votes"]["spread"], "b": this.weight, "a": this.vote_weight})
        print(pd.DataFrame(scores[-len(rules) :]).round(3).to_string(index=False, header=len(checks) == 1), flush=True)
    return pd.DataFrame(scores), pd.DataFrame(checks)


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the table of rules, a row for each rule, kind of table and method."""
    own = scores[scores["rule"] == "none"].set_index(["kind", "table", "model", "method"])["log_score"]
    before = own.reindex(pd.MultiIndex.from_frame(scores[["kind", "table", "model", "method"]])).to_numpy()
    scores = scores.assign(harmed=scores["log_score"] < before - HARM)
    found = scores.groupby(["kind", "method", "rule"], sort=False).agg(
        fits=("harmed", "size"),
        log_score=("log_score", "mean"),
        worst=("log_score", "min"),
        expected=("expected", "sum"),
        made=("made", "sum"),
        harmed=("harmed", "mean"),
    )
    return found.assign(ratio=found["expected"] / found["made"]).reset_index()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--kinds", nargs="+", default=["real", "drawn", "turned"])
    parser.add_argument("--no-fits", action="store_true", help="compare the fits that are there")
    scores, checks = compare(parser.parse_args())
    print(summarise(scores).round(3).to_string(index=False))
    of_checks = {"z_sd": ("z", "std"), "uneven": ("uneven", "mean"), "uneven_sd": ("uneven", "std")}
    of_checks |= {"most_spread": ("spread", "max"), "b": ("b", "mean"), "a": ("a", "mean")}
    print(checks.groupby(["kind", "method"], sort=False).agg(**of_checks).round(2).to_string())
