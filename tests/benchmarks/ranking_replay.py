"""Replay of comparisons: whom to ask about which, to learn how good systems are, when language models have judged.

    uv run python tests/benchmarks/ranking_replay.py --seeds 3

Of 999 comparisons of five systems (PandaLM), which two language models and three people have judged, the fit begins
with what the language models say of 200. People then give 20 answers a step, of those 200, as they are asked for:

    ranking    by `suggest_annotations(target="ranking")`
    labels     by `suggest_annotations`, for the labels of comparisons
    random     any person about any comparison

and all answers so far are fitted again. Printed per way and number of people's answers, means over seeds, and below
them their standard errors:

    rank       Spearman's correlation of the systems' expected strengths with their win rates by all answers of people
               to all 999, a tie being half a win, and all opponents counting alike
    error      the mean absolute error of win rates by the fit
    entropy    of the order of each two systems by the fit, in nats, summed
    seconds    to choose

The last row, "counted", has people's win rates by all their answers to those 200: how far these 200 are from all 999.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import entr
from scipy.stats import spearmanr

import bayesanno as ba
from bayesanno.data.annotations import take_rows

TABLE = Path(__file__).parents[3] / "shared" / "data" / "pandalm_pairs.csv"
WAYS = ("ranking", "labels", "random")
ITEMS, STEPS, BATCH = 200, 5, 20
LABELS = ("first", "second", "tie")
SETTINGS = {"draws": 1000, "tune": 500, "chains": 2, "progressbar": False, "check": False}


def win_rates_of_people(table: pd.DataFrame) -> pd.Series:
    """Return how often each system is better, by people, on average over opponents."""
    people = table[table["annotator"].str.startswith("person")]
    points = people["label"].map({"first": 1.0, "second": 0.0, "tie": 0.5})
    sides = [
        pd.DataFrame({"system": people[one], "other": people[other], "points": won})
        for one, other, won in (("first", "second", points), ("second", "first", 1 - points))
    ]
    return pd.concat(sides).groupby(["system", "other"])["points"].mean().groupby("system").mean()


def measure(fit: xr.DataTree, known: pd.Series) -> list[float]:
    """Return the rank correlation, the mean absolute error, and the entropy."""
    systems, p = ba.ranking_table(fit).set_index("system").loc[known.index], ba.win_table(fit)["p_stronger"]
    error = (systems["win_rate_mean"] - known).abs().mean()
    return [spearmanr(systems["strength_mean"], known).statistic, error, (entr(p) + entr(1 - p)).sum()]


def replay(data: ba.AnnotationData, known: pd.Series, model: object, seed: int) -> list[tuple]:
    """Return what is measured for each way, after each step."""
    is_person = np.array([name.startswith("person") for name in data.annotators])[data.annotator]
    start = ba.fit(model, take_rows(data, ~is_person), random_seed=seed, **SETTINGS)
    names = pd.DataFrame(
        {"item": np.array(data.items)[data.item], "annotator": np.array(data.annotators)[data.annotator]}
    )
    rows = []
    for way in WAYS:
        fit, shown, rng = start, ~is_person, np.random.default_rng(seed)
        rows.append((way, 0, *measure(fit, known), 0.0))
        for step in range(1, STEPS + 1):
            begin, hidden = time.perf_counter(), np.flatnonzero(~shown)
            if way == "random":
                chosen = rng.choice(hidden, BATCH, replace=False)
            else:
                ask = ba.suggest_annotations(fit, BATCH, target=way, among=names.iloc[hidden], random_seed=seed)
                place = pd.Series(hidden, index=pd.MultiIndex.from_frame(names.iloc[hidden]))
                chosen = place.loc[list(zip(ask["item"], ask["annotator"], strict=True))].to_numpy()
            seconds, shown = time.perf_counter() - begin, shown.copy()
            shown[chosen] = True
            fit = ba.fit(model, take_rows(data, shown), random_seed=seed, **SETTINGS)
            rows.append((way, step * BATCH, *measure(fit, known), seconds))
    return rows


def main() -> None:
    """Replay, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--model", default="model_b")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    if not given.table.exists():
        sys.exit(f"there is no table at {given.table}: give its path with --table")
    warnings.simplefilter("ignore")
    table = pd.read_csv(given.table, dtype=str, keep_default_na=False)
    known = win_rates_of_people(table)
    print(known.round(3).to_dict(), flush=True)
    model, rows = ba.get_model(given.model, {"class_prior": ba.Pairs()}), []
    for seed in range(given.seeds):
        items = table.drop_duplicates("item").sample(ITEMS, random_state=seed)
        data = ba.AnnotationData.from_records(
            table.loc[table["item"].isin(items["item"]), ["item", "annotator", "label"]].itertuples(index=False),
            items=items["item"].tolist(),
            labels=LABELS,
            item_columns={side: items[side].tolist() for side in ("first", "second")},
        )
        rows += [(seed, *row) for row in replay(data, known, model, seed)]
        counted = win_rates_of_people(table[table["item"].isin(items["item"])])[known.index]
        of_people = spearmanr(counted, known).statistic, (counted - known).abs().mean()
        rows.append((seed, "counted", 3 * ITEMS, *of_people, np.nan, np.nan))
        found = pd.DataFrame(rows, columns=["seed", "way", "answers", "rank", "error", "entropy", "seconds"])
        means = found.drop(columns="seed").groupby(["answers", "way"])
        print(f"{seed + 1} seeds", means.mean().round(3).to_string(), sep="\n", flush=True)
    print("standard errors", means.sem().round(3).to_string(), sep="\n")


if __name__ == "__main__":
    main()
