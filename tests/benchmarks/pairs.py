"""Which system is better, by judges of unequal quality: real comparisons, and simulated ones.

    uv run --group benchmarks python tests/benchmarks/pairs.py real ../shared/data/pandalm_pairs.csv
    uv run --group benchmarks python tests/benchmarks/pairs.py simulated --panels 40
    uv run --group benchmarks python tests/benchmarks/pairs.py large

real: 999 comparisons of five systems, judged by two language models, and by three people (PandaLM, Apache 2.0). Labels
are learnt from the two models alone, and with 50 or 200 answers of the first person as known truths. Where persons two
and three agree, that is the truth of the other comparisons: `right` and `log_score` are of these. `rank` is Kendall's
correlation of the estimated win rates with those that all people give; `covered` how many of the five are inside the
94% intervals.

simulated: 400 comparisons of six systems, by judges who are alike, unequal, partial to the first side, or of whom two
always take the first; three judges each. `covered_ranks` is the share of true ranks inside the 94% intervals.

large: 100,000 comparisons of 30 systems by 20 judges, two each: seconds until R-hat is at most 1.01.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.stats import kendalltau

import bayesanno as ba

SIDES = ("first", "second")
LABELS = (*SIDES, "tie")
SETTINGS: dict[str, Any] = {"random_seed": 1, "progressbar": False}
MODELS = ("model_b", "mace", "item_difficulty", "shared_errors")


def win_rates(pairs: np.ndarray, label: np.ndarray, n: int) -> np.ndarray:
    """Return how often each system wins against the others, each pair of systems alike, a tie counting half."""
    won = np.array([1.0, 0.0, 0.5])[label]
    total, count = np.zeros((n, n)), np.zeros((n, n))
    for a, b, points in ((*pairs.T, won), (*pairs.T[::-1], 1 - won)):
        np.add.at(total, (a, b), points)
        np.add.at(count, (a, b), 1)
    return np.nanmean(np.where(count > 0, total / np.maximum(count, 1), np.nan), axis=1)


def bradley_terry(pairs: np.ndarray, label: np.ndarray, n: int) -> np.ndarray:
    """Return strengths by maximum likelihood, a tie as half a win of each: rates of winning against the others."""
    won = np.array([1.0, 0.0, 0.5])[label]

    def loss(s: np.ndarray) -> float:
        d = s[pairs[:, 0]] - s[pairs[:, 1]]
        return float((won * np.logaddexp(0, -d) + (1 - won) * np.logaddexp(0, d)).sum() + 1e-6 * (s**2).sum())

    s = minimize(loss, np.zeros(n)).x
    rate = 1 / (1 + np.exp(s[None, :] - s[:, None]))
    return (rate.sum(axis=1) - 0.5) / (n - 1)


def noisy_bradley_terry(table: pd.DataFrame, systems: list[str]) -> np.ndarray:
    """Return the scores of crowd-kit's NoisyBradleyTerry, which takes no ties."""
    from crowdkit.aggregation import NoisyBradleyTerry

    decided = table[table["label"] != "tie"]
    winner = np.where(decided["label"] == "first", decided["first"], decided["second"])
    answers = pd.DataFrame(
        {"worker": decided["annotator"], "left": decided["first"], "right": decided["second"], "label": winner}
    )
    scores = NoisyBradleyTerry(n_iter=100, random_state=1).fit_predict(answers)
    return scores.reindex(systems).to_numpy()


def vote(data: ba.AnnotationData) -> np.ndarray:
    """Return the majority label of each item, the first of several at random."""
    rng = np.random.default_rng(0)
    return (data.votes + 1e-6 * rng.uniform(size=data.votes.shape)).argmax(axis=1)


def score(p: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return accuracy and log score of probabilities (item, label)."""
    own = p[np.arange(truth.size), truth].clip(1e-9)
    return {"right": float((p.argmax(axis=1) == truth).mean()), "log_score": float(np.log(own).mean())}


def probabilities(fit: Any, data: ba.AnnotationData) -> np.ndarray:
    """Return the probabilities of the labels that tables show, (item, label)."""
    table = ba.label_table(fit).set_index("item").loc[list(data.items)]
    return table[[f"p[{label}]" for label in data.classes]].to_numpy()


# ---------------------------------------------------------------------------------------------------------- real


def compare_real(path: str, seeds: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each way, number of controls and seed of their choice."""
    table = pd.read_csv(path, dtype=str)
    items = table.drop_duplicates("item")
    systems = sorted({*items["first"], *items["second"]})
    pairs = np.array([[systems.index(one) for one in items[side]] for side in SIDES]).T
    wide = table.pivot(index="item", columns="annotator", values="label").reindex(items["item"])
    people = [f"person {k}" for k in (1, 2, 3)]
    code = {label: at for at, label in enumerate(LABELS)}
    of_people = table[table["annotator"].isin(people)]
    pairs_of = dict(zip(items["item"], pairs.tolist(), strict=True))
    human = win_rates(np.array([pairs_of[i] for i in of_people["item"]]), of_people["label"].map(code).to_numpy(), 5)
    print("win rates by people:", dict(zip(systems, human.round(3).tolist(), strict=True)))
    machine = table[~table["annotator"].isin(people)]
    machine_pairs = np.array([pairs_of[i] for i in machine["item"]])
    agreed = (wide["person 2"] == wide["person 3"]).to_numpy()
    truth = wide["person 2"].map(code).fillna(0).astype(int).to_numpy()
    columns = {side: items[side].tolist() for side in SIDES}
    for n_controls in (0, 50, 200):
        for seed in range(seeds if n_controls else 1):
            chosen = np.random.default_rng(seed).choice(len(items), n_controls, replace=False)
            controls = {items["item"].iloc[at]: wide["person 1"].iloc[at] for at in chosen}
            data = ba.AnnotationData.from_records(
                machine[["item", "annotator", "label"]].itertuples(index=False),
                items=items["item"].tolist(), labels=LABELS, controls=controls, item_columns=columns,
            )  # fmt: skip
            asked = agreed.copy()
            asked[chosen] = False
            row = {"controls": n_controls, "seed": seed}
            voted = vote(data)
            voted[chosen] = [code[one] for one in controls.values()]
            rates = {
                "vote, then Bradley-Terry": bradley_terry(pairs, voted, 5),
                "Bradley-Terry of all answers": bradley_terry(machine_pairs, machine["label"].map(code).to_numpy(), 5),
                "crowd-kit NoisyBradleyTerry": noisy_bradley_terry(machine, systems),
            }
            for method, rate in rates.items():
                own = {"right": float((voted == truth)[asked].mean())} if "vote" in method else {}
                yield row | {"method": method, **own, "rank": kendalltau(rate, human).statistic}
            for name in MODELS:
                for prior in ("learnt", ba.Pairs()):
                    began = time.perf_counter()
                    fit = ba.fit(ba.get_model(name, {"class_prior": prior}), data, **SETTINGS)
                    p = probabilities(fit, data)
                    found = row | {
                        "method": f"{name}{'' if prior == 'learnt' else ', pairs'}",
                        **score(p[asked], truth[asked]),
                    }
                    found |= {"seconds": time.perf_counter() - began, "r_hat": ba.diagnostics_of(fit)["max_rhat"]}
                    if prior != "learnt":
                        ranking = ba.ranking_table(fit, ci_prob=0.94).set_index("system").loc[systems]
                        low, high = (ranking[f"win_rate_eti94_{end}"].to_numpy() for end in ("lb", "ub"))
                        found |= {"rank": kendalltau(ranking["win_rate_mean"], human).statistic}
                        found |= {
                            "covered": int(((low <= human) & (human <= high)).sum()),
                            "width": (high - low).mean(),
                        }
                    yield found


# ----------------------------------------------------------------------------------------------------- simulated

KINDS = ("alike", "unequal", "partial", "always first")


def make_panel(seed: int, kind: str) -> tuple[ba.AnnotationData, np.ndarray, np.ndarray]:
    """Return comparisons, the strengths of the systems and the true outcomes."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n, n_systems, n_judges = 400, 6, 6
    strength = rng.normal(0, 1, n_systems)
    strength -= strength.mean()
    pairs = np.array([rng.choice(n_systems, 2, replace=False) for _ in range(n)])
    a, b = strength[pairs.T]
    weight = np.exp(np.stack([a, b, -1 + (a + b) / 2], axis=1))
    truth = (rng.uniform(size=n)[:, None] > (weight / weight.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    right = np.full(n_judges, 0.7) if kind == "alike" else np.array([0.95, 0.85, 0.75, 0.6, 0.5, 0.4])
    said = []
    for i in range(n):
        for j in rng.choice(n_judges, 3, replace=False):
            answer = truth[i] if rng.uniform() < right[j] else (truth[i] + rng.integers(1, 3)) % 3
            if kind == "partial" and rng.uniform() < 0.3:
                answer = 0
            if kind == "always first" and j < 2:
                answer = 0
            said.append((f"q{i}", f"judge {j}", LABELS[answer]))
    columns = {side: [f"system {code}" for code in pairs[:, at]] for at, side in enumerate(SIDES)}
    data = ba.AnnotationData.from_records(said, items=[f"q{i}" for i in range(n)], labels=LABELS, item_columns=columns)
    return data, strength, truth


def compare_simulated(panels: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each panel, kind of judges and way."""
    systems = [f"system {code}" for code in range(6)]
    for seed in range(panels):
        for kind in KINDS:
            data, strength, truth = make_panel(seed, kind)
            row = {"kind": kind, "seed": seed}
            table = data.to_frame().assign(
                **{side: np.array(data.item_columns[side].names)[data.item] for side in SIDES}
            )
            of_item = np.array([[systems.index(one) for one in data.item_columns[side].names] for side in SIDES]).T
            voted = vote(data)
            for method, rate in {
                "vote, then Bradley-Terry": bradley_terry(of_item, voted, 6),
                "Bradley-Terry of all answers": bradley_terry(of_item[data.item], data.label, 6),
                "crowd-kit NoisyBradleyTerry": noisy_bradley_terry(table, systems),
            }.items():
                own = {"right": (voted == truth).mean()} if "vote" in method else {}
                yield row | {"method": method, **own, "rank": kendalltau(rate, strength).statistic}
            for name, prior in (("model_b", "learnt"), ("model_b", ba.Pairs()), ("mace", ba.Pairs())):
                fit = ba.fit(
                    ba.get_model(name, {"class_prior": prior}), data, draws=500, tune=500, check=False, **SETTINGS
                )
                found = (
                    row
                    | {"method": f"{name}{'' if prior == 'learnt' else ', pairs'}"}
                    | score(probabilities(fit, data), truth)
                )
                if prior != "learnt":
                    ranking = ba.ranking_table(fit, ci_prob=0.94).set_index("system").loc[systems]
                    true_rank = (-strength).argsort().argsort() + 1
                    within = (ranking["rank_eti94_lb"] <= true_rank) & (true_rank <= ranking["rank_eti94_ub"])
                    error = np.abs(ranking["strength_mean"] - strength)
                    inside = (ranking["strength_eti94_lb"] <= strength) & (strength <= ranking["strength_eti94_ub"])
                    found |= {"rank": kendalltau(ranking["strength_mean"], strength).statistic, "error": error.mean()}
                    found |= {"covered_ranks": within.mean(), "covered_strengths": inside.mean()}
                yield found


# --------------------------------------------------------------------------------------------------------- large


def compare_large(n: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each model."""
    rng = np.random.default_rng(0)
    strength = rng.normal(0, 1, 30)
    pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(n)])
    a, b = strength[pairs.T]
    weight = np.exp(np.stack([a, b, -1 + (a + b) / 2], axis=1))
    truth = (rng.uniform(size=n)[:, None] > (weight / weight.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    right = rng.uniform(0.4, 0.95, 20)
    item = np.repeat(np.arange(n), 2)
    judge = np.array([rng.choice(20, 2, replace=False) for _ in range(n)]).ravel()
    wrong = (truth[item] + rng.integers(1, 3, item.size)) % 3
    label = np.where(rng.uniform(size=item.size) < right[judge], truth[item], wrong)
    columns = {side: [f"system {code:02}" for code in pairs[:, at]] for at, side in enumerate(SIDES)}
    data = ba.AnnotationData(
        item=item, annotator=judge, label=label, items=tuple(f"q{i}" for i in range(n)),
        annotators=tuple(f"judge {j}" for j in range(20)), labels=LABELS, item_columns=columns,
    )  # fmt: skip
    for name in ("model_b", "mace"):
        began = time.perf_counter()
        fit = ba.fit(ba.get_model(name, {"class_prior": ba.Pairs()}), data, **SETTINGS)
        diagnostics = ba.diagnostics_of(fit)
        ranking = ba.ranking_table(fit, ci_prob=0.94).set_index("system").sort_index()
        yield {
            "method": name, "seconds": time.perf_counter() - began, "sampling": fit.attrs["seconds_sample"],
            "r_hat": diagnostics["max_rhat"], "ess": diagnostics["min_ess_bulk"],
            "rank": kendalltau(ranking["strength_mean"], strength).statistic,
        }  # fmt: skip


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["real", "simulated", "large"])
    parser.add_argument("path", nargs="?", help="real: the file of comparisons")
    parser.add_argument("--panels", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3, help="real: choices of controls")
    parser.add_argument("--items", type=int, default=100_000, help="large: comparisons")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = {
        "real": lambda: compare_real(asked.path, asked.seeds),
        "simulated": lambda: compare_simulated(asked.panels),
        "large": lambda: compare_large(asked.items),
    }[asked.what]()
    found = pd.DataFrame(rows)
    by = [name for name in ("controls", "kind", "method") if name in found]
    print(found.drop(columns="seed", errors="ignore").groupby(by, sort=False).mean().round(3).to_string())


if __name__ == "__main__":
    main()
