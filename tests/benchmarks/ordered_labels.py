"""Labels in order: `ordinal_dawid_skene` beside `model_b` and `hierarchical_dawid_skene`, where it holds and where not.

    uv run python tests/benchmarks/ordered_labels.py --errors ordered --tables 20
    uv run python tests/benchmarks/ordered_labels.py --errors any --tables 20

With `ordered` errors, annotators perceive grades with a severity and a normal noise of their own, and round; the
model's default noise is logistic. With `any` errors every annotator has a confusion matrix of their own, whose wrong
labels have nothing to do with the order. For each model: accuracy of labels, mean log score of the true label, elpd by
leave-one-out of items, and how its chains moved.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd

import bayesanno as ba

MODELS = ("ordinal_dawid_skene", "hierarchical_dawid_skene", "model_b")
OWN = MODELS[0]


def make_table(options: argparse.Namespace, rng: np.random.Generator) -> ba.AnnotationData:
    """Return a table with gold: its true grades, who answered which items, and what they said."""
    n_labels, n_annotators = options.labels, options.annotators
    truth = rng.choice(n_labels, options.items, p=rng.dirichlet(np.full(n_labels, 5.0)))
    item = np.repeat(np.arange(options.items), options.per_item)
    annotator = np.concatenate([rng.permutation(n_annotators)[: options.per_item] for _ in range(options.items)])
    if options.errors == "ordered":
        severity = rng.normal(0, options.severity, n_annotators)
        sd = options.sd * np.exp(0.4 * rng.normal(size=n_annotators))
        perceived = truth[item] - severity[annotator] + sd[annotator] * rng.normal(size=item.size)
        label = np.clip(np.round(perceived), 0, n_labels - 1).astype(int)
    else:
        right = rng.beta(8, 3, size=(n_annotators, n_labels, 1))
        elsewhere = rng.dirichlet(np.full(n_labels, 0.3), size=(n_annotators, n_labels))
        confusion = right * np.eye(n_labels) + (1 - right) * elsewhere  # (annotator, true_class, response)
        below = confusion[annotator, truth[item]].cumsum(axis=1)
        label = np.minimum((rng.uniform(size=(item.size, 1)) > below).sum(axis=1), n_labels - 1)
    items, labels = tuple(f"i{n}" for n in range(options.items)), tuple(f"{v} of {n_labels}" for v in range(n_labels))
    return ba.AnnotationData(
        item=item, annotator=annotator, label=label, items=items, labels=labels,
        annotators=tuple(f"a{j}" for j in range(n_annotators)),
        gold={name: labels[grade] for name, grade in zip(items, truth.tolist(), strict=True)},
    )  # fmt: skip


def compare_on(table: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what each model makes of one table, and how its chains moved."""
    data = make_table(options, np.random.default_rng([options.seed, table]))
    settings = {"draws": options.draws, "tune": options.draws, "chains": options.chains, "initvals": "vote"}
    fits = {name: ba.fit(name, data, random_seed=table, progressbar=False, **settings) for name in MODELS}
    scores = ba.compare(fits).set_index("name")[["accuracy", "log_score", "elpd_loo", "elpd_diff", "se_diff"]]
    rows, vote = [], float((data.votes.argmax(axis=1) == data.gold_codes).mean())
    for name, fit in fits.items():
        found = ba.diagnostics_of(fit)
        moved = {own: found[own] for own in ("max_rhat", "min_ess_bulk", "divergences")}
        moved |= {"steps": float(fit["sample_stats"]["n_steps"].mean()), "seconds": fit.attrs["seconds_sample"]}
        rows.append({"table": table, "model": name, "vote": vote, **scores.loc[name], **moved})
    return rows


def main() -> None:
    """Compare on so many tables, print each, the means, and how often the ordinal model is the best."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errors", choices=["ordered", "any"], default="ordered")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--annotators", type=int, default=60)
    parser.add_argument("--per-item", type=int, default=4)
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--severity", type=float, default=0.3, help="sd of the severities, in grades")
    parser.add_argument("--sd", type=float, default=0.6, help="the median annotator's noise, in grades")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # so few draws are warned about
    pd.set_option("display.width", 200)
    pd.set_option("display.max_columns", 20)
    rows: list[dict[str, Any]] = []
    for table in range(options.tables):
        rows += compare_on(table, options)
        print(pd.DataFrame(rows[-len(MODELS) :]).round(3).to_string(index=False, header=table == 0), flush=True)
    found = pd.DataFrame(rows)
    print("means\n", found.drop(columns="table").groupby("model").mean().round(3).to_string())
    wide = found.pivot(index="table", columns="model", values=["accuracy", "log_score", "elpd_loo"])
    for what in ("accuracy", "log_score", "elpd_loo"):
        for other in MODELS[1:]:
            apart = wide[what][OWN] - wide[what][other]
            wins, mean = int((apart > 0).sum()), apart.mean()
            print(f"{what}: above {other} in {wins} of {len(apart)} tables, by {mean:.3f} +- {apart.sem():.3f}")
    for name, one in found.groupby("model"):
        print(f"{name}: largest R-hat {one['max_rhat'].max():.3f}, {int(one['divergences'].sum())} divergences")


if __name__ == "__main__":
    main()
