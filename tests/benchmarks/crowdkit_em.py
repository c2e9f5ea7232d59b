"""EM and VB on the same data: bayesanno beside crowd-kit, side by side in one run.

    uv run --group benchmarks python tests/benchmarks/crowdkit_em.py rte.csv temporal.csv

For each table: the seconds of one fit, the least of several, after all is imported and read; and accuracy, where there
is gold. Crowd-kit takes the table that it asks for, and its own defaults (its Dawid-Skene and its one-coin model are
maximum likelihood by EM from the vote; its MACE by VB from ten random starts). Ours are run from one start as well as
from the ten of the default, crowd-kit's MACE from one as well.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 5


def least_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least time of several calls, and what the last one returned."""
    seconds, found = [], None
    for _ in range(REPEATS):
        begin = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds), found


def ours(data: Any) -> dict[str, Callable[[], pd.Series]]:
    """Return what bayesanno is asked for, by name: each gives the label of each item."""
    import bayesanno as ba

    def labels(model: Any, method: str, **options: Any) -> pd.Series:
        fit = ba.fit(model, data, method=method, method_options=options, random_seed=1, progressbar=False)
        best = fit["latent"]["probability"].values.argmax(axis=1)
        return pd.Series(np.array(data.classes)[best], index=list(data.items))

    uniform = ba.models.MACE(class_prior="uniform")
    called: dict[str, Callable[[], pd.Series]] = {}
    for method in ("em", "vb"):
        for name, model in (("mace", uniform), ("model_b", "model_b"), ("one_coin", "one_coin")):
            for restarts in (1, 10):
                called[f"bayesanno {name}, {method}, {restarts}"] = lambda m=model, o=method, r=restarts: labels(
                    m, o, restarts=r
                )
    return called


def theirs(data: Any) -> dict[str, Callable[[], pd.Series]]:
    """Return what crowd-kit is asked for, by name."""
    from crowdkit.aggregation import MACE, DawidSkene, MajorityVote, OneCoinDawidSkene

    table = data.to_frame().rename(columns={"item": "task", "annotator": "worker"})[["task", "worker", "label"]]
    return {
        "crowd-kit majority vote": lambda: MajorityVote().fit_predict(table),
        "crowd-kit DawidSkene": lambda: DawidSkene().fit_predict(table),
        "crowd-kit OneCoinDawidSkene": lambda: OneCoinDawidSkene().fit_predict(table),
        "crowd-kit MACE, 10": lambda: MACE(random_state=1).fit_predict(table),
        "crowd-kit MACE, 1": lambda: MACE(n_restarts=1, random_state=1).fit_predict(table),
        "crowd-kit MACE by em, 10": lambda: MACE(method="em", random_state=1).fit_predict(table),
    }


def main() -> None:
    """Print one table for each data set."""
    import bayesanno as ba

    parser = argparse.ArgumentParser()
    parser.add_argument("sources", nargs="+")
    for source in parser.parse_args().sources:
        data = ba.read_annotations(source)
        gold = pd.Series(dict(data.gold), dtype="str")
        rows = []
        for name, call in {**theirs(data), **ours(data)}.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, found = least_seconds(call)
            right = found.reindex(gold.index).astype("str") == gold if len(gold) else pd.Series(dtype=float)
            rows.append({"method": name, "seconds": round(seconds, 3), "accuracy": round(float(right.mean()), 4)})
        print(f"\n{source}: {data.describe()}\n{pd.DataFrame(rows).to_string(index=False)}")


if __name__ == "__main__":
    main()
