"""Data and settings that many tests make fits of."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import bayesanno as ba
from bayesanno.data.designs import make_design

COMMAND = Path(sys.executable).parent / "bayesanno"
WITH_EM = "class_conditional, mace, model_b, one_coin, pooled_dawid_skene"  # the models that have EM and VB
LABELS = ("maybe", "no", "yes")
SETTINGS = {"draws": 1000, "tune": 500, "chains": 4, "random_seed": 1, "progressbar": False}
SHORT = {"draws": 40, "tune": 60, "chains": 2, "random_seed": 1, "progressbar": False}

# Three annotators, two labels, few answers: small enough that `exact.py` integrates over its parameters.
TINY_RECORDS = (
    ("s1", "ada", "yes"), ("s1", "ada", "yes"), ("s1", "bo", "yes"), ("s1", "cy", "no"),
    ("s2", "ada", "no"), ("s2", "bo", "no"), ("s2", "cy", "no"),
    ("s3", "bo", "yes"), ("s3", "cy", "yes"),
    ("s4", "ada", "no"), ("s4", "bo", "yes"), ("s4", "cy", "no"),
    ("s5", "ada", "yes"),
    ("s6", "cy", "no"), ("s6", "ada", "no"),
)  # fmt: skip


# Textual entailment by Snow, O'Connor, Jurafsky and Ng (2008), "Cheap and fast - but is it good?", EMNLP, pp. 254-263
# (ACL Anthology D08-1027): its items by the number of "1" among ten answers. The answers are not in this repository.
RTE_HISTOGRAM = np.array([5, 25, 90, 105, 103, 65, 62, 59, 108, 105, 73])
DIMENSIONS = {"focus": ("method", "result", "other"), "polarity": ("+", "-")}  # two of them, each with its labels


def find_rooms() -> list[Any]:
    """Return the package and its modules that have public names of their own, but for the models."""
    modules = [getattr(ba, name) for name in ba.__all__ if name != "models"]
    return [ba, *filter(inspect.ismodule, modules)]


def title_of(axes: Any) -> str:
    """The title of a figure's panel on one line."""
    return " ".join(axes.get_title(loc="left").split())


def write_parts(frame: Any, folder: Path, n: int) -> Path:
    """Write a table to a new folder of so many Parquet files, and return the folder."""
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), n)):
        frame.iloc[rows].to_parquet(folder / f"part{number}.parquet")
    return folder


def rte_annotations() -> ba.AnnotationData:
    """Annotations of the counts of `RTE_HISTOGRAM`, for what depends on nothing else: who said what is made up."""
    positive = np.repeat(np.arange(11), RTE_HISTOGRAM)
    turn = np.arange(len(positive))[:, None]  # who is among the first differs from item to item
    said = ((np.arange(10) + turn) % 10 < positive[:, None]).astype(int)  # (item, annotator)
    item, annotator = np.indices(said.shape).reshape(2, -1)
    return ba.AnnotationData(
        item=item,
        annotator=annotator,
        label=said.ravel(),
        items=tuple(f"item {number}" for number in range(len(said))),
        annotators=tuple("abcdefghij"),
        labels=("0", "1"),
    )


def rte_counts() -> ba.CountData:
    """The same, as counts."""
    return ba.CountData.from_annotations(rte_annotations(), positive="1")


def tabulate(truth, sayings, labels=("no", "yes")) -> ba.AnnotationData:
    """Build annotations from what each annotator says to every item, one row each; None is no answer."""
    records = [
        (f"page {item}", f"reader {who}", labels[said])
        for who, row in enumerate(sayings)
        for item, said in enumerate(row)
        if said is not None
    ]
    gold = {f"page {item}": labels[one] for item, one in enumerate(truth)}
    items = [f"page {item}" for item in range(len(truth))]
    return ba.AnnotationData.from_records(records, items=items, labels=list(labels), gold=gold)


def tiny_data(**known: Any) -> ba.AnnotationData:
    return ba.AnnotationData.from_records(TINY_RECORDS, **known)


def simulate_crowd(seed: int = 20130609) -> tuple[ba.AnnotationData, Any]:
    """400 items, 30 annotators, 3 to 5 answers each, simulated by MACE; with gold, and the parameters."""
    design = make_design(items=400, annotators=30, labels=LABELS, per_item=(3, 5), random_seed=seed)
    data, truth = ba.simulate(ba.models.MACE(class_prior="uniform"), design, random_seed=seed)
    records = data.to_frame()[["item", "annotator", "label"]].to_numpy()  # annotators in the order a file has them
    data = ba.AnnotationData.from_records(records, labels=LABELS, gold=data.gold)
    return data, truth.sel(annotator=list(data.annotators))


def simulate_unsure(rng, *, items=200, careful=8, careless=4, per_item=4):
    """Annotations of which some are "unsure", with gold.

    Six in ten items of class "yes" are hard. Of hard items careful annotators are unsure, seven times in ten, and all
    others guess; of easy items careful annotators are right nine times in ten, careless ones less often.
    """
    truth = rng.random(items) < 0.4
    hard = truth & (rng.random(items) < 0.6)
    labels = np.array(["no", "yes", "unsure"])
    records = []
    for item in range(items):
        for who in rng.choice(careful + careless, per_item, replace=False):
            right = rng.random() < (0.5 if hard[item] else 0.9 if who < careful else 0.65)
            said = int(truth[item]) if right else 1 - int(truth[item])
            if hard[item] and who < careful and rng.random() < 0.7:
                said = 2
            records.append((f"i{item}", f"{'careful' if who < careful else 'careless'}{who}", labels[said]))
    gold = {f"i{item}": str(labels[int(is_yes)]) for item, is_yes in enumerate(truth)}
    return ba.AnnotationData.from_records(records, unsure="unsure", gold=gold)


def simulate_clique(
    rng, *, annotators=10, items=400, clique=0, copies=0.6, accuracy=(0.6, 0.9), per_item=None, share=0.5
):
    """Annotations of two classes, with gold, and the errors (item, annotator).

    The first so many annotators err by one coin, each on an item with probability `copies`, else by their own.
    """
    truth = rng.random(items) < share
    right = rng.uniform(*accuracy, annotators)
    copied = (np.arange(annotators) < clique) & (rng.random((items, annotators)) < copies)
    wrong = np.where(copied, rng.random((items, 1)), rng.random((items, annotators))) > right
    said = truth[:, None] ^ wrong
    kept = rng.random((items, annotators)).argsort(axis=1).argsort(axis=1) < (per_item or annotators)
    item, annotator = np.nonzero(kept)
    labels = np.array(["no", "yes"])
    data = ba.AnnotationData(
        item=item,
        annotator=annotator,
        label=said[kept].astype(int),
        items=tuple(f"i{number}" for number in range(items)),
        annotators=tuple(f"a{number}" for number in range(annotators)),
        labels=tuple(labels),
        gold={f"i{number}": str(labels[int(is_yes)]) for number, is_yes in enumerate(truth)},
    )
    return data, wrong


def frequencies_agree(drawn: np.ndarray, probability: np.ndarray) -> bool:
    """Whether draws (sample, item) have the frequencies of probabilities (item, state), item by item.

    To five sigmas, by exact tails: where a probability is small, a normal approximation takes one draw for seven.
    """
    n = len(drawn)
    counts = np.stack([(drawn == state).sum(axis=0) for state in range(probability.shape[1])], axis=-1)
    tail = np.minimum(stats.binom.cdf(counts, n, probability), stats.binom.sf(counts - 1, n, probability))
    return bool(tail.min() > stats.norm.sf(5))


def bounds_of(table: Any) -> Any:
    """Return the bounds of a table's confidence interval, whatever its probability, as columns low and high."""
    found = table.filter(regex=r"^ci[\d.]+_[lu]b$")
    return found.set_axis(["low", "high"], axis=1)


def is_covered(table: Any, name: str) -> Any:
    """Return whether the confidence intervals of a table hold the values in a column."""
    return bounds_of(table)["low"].le(table[name]) & bounds_of(table)["high"].ge(table[name])
