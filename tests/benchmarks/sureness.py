"""How sure labels are, and how sure they should be: without adjustment, and with it, on the same fits.

    uv run python tests/benchmarks/sureness.py FOLDER [--methods em vb nuts] [--kinds real drawn turned]

Three kinds of tables with true labels are fitted:

    real    the tables of ../shared/data; of large ones, random items with about 20,000 answers
    drawn   tables drawn from the models themselves, each fitted by its own model
    turned  600 items with five answers each, where annotators turn one label into another, a tenth or three tenths of
            the time, whatever else they answer

Each table is fitted once by each model and method. The fits' logs and checks are kept in the folder, so that an
interrupted run goes on, and rules can be compared again without fitting. The rules:

    none  the model's own labels
    this  the rule of `bayesanno.inference.tempering`

For each rule and kind of table: the mean log score of the true labels (of a label with probability 0, log 1e-16);
errors expected over errors made, summed over tables; the share of tables where labels are worse by more than .01 than
without adjustment. Then, of the checks of fits: the standard deviation of z, and the share that is adjusted noticeably.
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
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

import bayesanno as ba
from bayesanno.fits.parts import log_label_posterior, parts_of
from bayesanno.fits.view import NOTICEABLE, view_of
from bayesanno.inference.diagnosis.misfit import Misfit, measure_misfit
from bayesanno.inference.tempering.rule import Tempering, weigh_errors, weigh_votes
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
            fit = ba.fit(model, data, method=method, **settings)
        except ba.FitError:
            return None
        view = view_of(fit)
        (misfit,) = measure_misfit(ModelDraws(view.model, view.data, view.posterior, view.known), 1)
    (part,) = parts_of(view)
    found = {"logs": log_label_posterior(part), "data": data, "found": misfit.found, "errors": None}
    if misfit.errors is not None:
        found["errors"] = (misfit.errors.correlation, misfit.errors.informedness)
    return found


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


def apply_rules(found: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the log probabilities of labels (item, label) by each rule."""
    logs, data, errors = found["logs"], found["data"], found["errors"]
    errors = None if errors is None else SimpleNamespace(correlation=errors[0], informedness=errors[1])
    this = Tempering.from_check(logs, Misfit(found["found"], errors), data.n_annotators)
    return {"none": logs, "this": this.average(logs, this.count(data))}


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
        scores += [of | {"rule": rule} | score(logs, found["data"]) for rule, logs in apply_rules(found).items()]
        check, errors = found["found"], found["errors"]
        r, n_labels = 0.0 if errors is None else errors[0].clip(0, 1).mean(), found["logs"].shape[1]
        seen = {"z": check.get("errors", {}).get("z", np.nan), "spread": check["votes"]["spread"]}
        checks.append(of | seen | {"b": weigh_errors(check, r), "a": weigh_votes(check, n_labels)})
        print(pd.DataFrame(scores[-2:]).round(3).to_string(index=False, header=len(checks) == 1), flush=True)
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
    by = checks.assign(noticed=checks[["a", "b"]].max(axis=1) >= NOTICEABLE).groupby(["kind", "method"], sort=False)
    print(by.agg(z_sd=("z", "std"), most_spread=("spread", "max"), noticed=("noticed", "mean")).round(2).to_string())
