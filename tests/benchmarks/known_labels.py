"""Coverage of intervals by known labels: of `gold_table`, and of shares by `rate_table` on panels of judges.

    uv run python tests/benchmarks/known_labels.py gold
    uv run python tests/benchmarks/known_labels.py rates

`gold`: 2,000 judges give n answers each, and are right with the same rate in both classes, which are equally probable;
the coverage of 95% intervals of each measure.

`rates`: 40 panels of 200 items with a share of .3, 50 of them checked, drawn at random, and five judges with
sensitivities of .7 to .95 and specificities of .75 to .95. With shared errors, a third of the items mislead each judge
with probability .6. The coverage of 95% intervals of the share among all items, and their width.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd

import bayesanno as ba

MEASURES = ("accuracy", "kappa", "sensitivity", "specificity", "precision", "f1")
JUDGES, PANELS = 2000, 40


def make_data(truth: np.ndarray, said: np.ndarray, checked: np.ndarray) -> ba.AnnotationData:
    """Return annotations (item, judge) of two labels, with the true labels of some items as gold."""
    item, judge = np.indices(said.shape)
    names = tuple(f"i{n}" for n in range(len(said)))
    return ba.AnnotationData(
        item=item.ravel(), annotator=judge.ravel(), label=said.ravel(), items=names,
        annotators=tuple(f"j{n}" for n in range(said.shape[1])), labels=("no", "yes"),
        gold={names[n]: ("no", "yes")[truth[n]] for n in np.flatnonzero(checked)},
    )  # fmt: skip


def cover_measures(n: int, rate: float) -> pd.Series:
    """Return the coverage of each measure, over judges of one table who share no item."""
    rng, names = np.random.default_rng(1), tuple(f"i{number}" for number in range(n * JUDGES))
    truth = (rng.random(n * JUDGES) < 0.5).astype(int)
    said = np.where(rng.random(truth.size) < rate, truth, 1 - truth)
    data = ba.AnnotationData(
        item=np.arange(truth.size), annotator=np.arange(truth.size) // n, label=said, items=names,
        annotators=tuple(f"j{judge}" for judge in range(JUDGES)), labels=("no", "yes"),
        gold=dict(zip(names, np.array(["no", "yes"])[truth].tolist(), strict=True)),
    )  # fmt: skip
    table, found = ba.gold_table(data, ci_prob=0.95, random_seed=1), {}
    for name in MEASURES:
        true = 2 * rate - 1 if name == "kappa" else rate
        known = table[table[name].notna()]
        found[name] = known[f"{name}_eti95_lb"].le(true).mul(known[f"{name}_eti95_ub"].ge(true)).mean()
    return pd.Series(found)


def draw_panel(rng: np.random.Generator, *, shared: bool, n: int = 200, checked: int = 50) -> ba.AnnotationData:
    """Return the answers of five judges to items of which some are checked."""
    truth = (rng.random(n) < 0.3).astype(int)
    right = np.where(truth[:, None] == 1, rng.uniform(0.7, 0.95, 5), rng.uniform(0.75, 0.95, 5))
    if shared:
        right = np.where(rng.random((n, 1)) < 1 / 3, 0.4, right)
    said = np.where(rng.random(right.shape) < right, truth[:, None], 1 - truth[:, None])
    return make_data(truth, said, np.isin(np.arange(n), rng.choice(n, checked, replace=False)))


def cover_rates(*, shared: bool) -> pd.DataFrame:
    """Return the coverage and the width of each row of `rate_table`, of one judge and of all."""
    rng, found = np.random.default_rng(2), []
    for panel in range(PANELS):
        data = draw_panel(rng, shared=shared)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = ba.fit("model_b", data, method="vb", random_seed=panel, progressbar=False)
            table = ba.rate_table(fit, ci_prob=0.95, random_seed=panel)
        found.append(table.assign(judges=np.where(table["annotator"] == "", "all", "one")))
    every = pd.concat(found)
    every["covered"] = (every["eti95_lb"] <= 0.3) & (0.3 <= every["eti95_ub"])
    every["off"] = every["mean"] - 0.3
    return every.groupby(["judges", "source"])[["covered", "off", "width"]].mean()


if __name__ == "__main__":
    if "gold" in sys.argv:
        settings = [(n, rate) for n in (20, 50, 200) for rate in (0.5, 0.9, 0.99)]
        print(pd.DataFrame({each: cover_measures(*each) for each in settings}).T.round(3).to_string())
    if "rates" in sys.argv:
        for shared in (False, True):
            print(f"errors {'shared' if shared else 'independent'}")
            print(cover_rates(shared=shared).round(3).to_string())
