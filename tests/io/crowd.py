"""How the data set `@crowd` was made: support tickets sorted into four topics by 25 people, all of it simulated.

It is simulated by model B. Sixteen people are good at it, four mix up "delivery" and "quality", three spam (one clicks
at random, two always choose the same topic), one is an adversary who shifts every topic to the next, and one, who is
good, answers nearly everything twice. The file that ships, `named_data/crowd.csv`, is `make_crowd()` as it came out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.data.designs import make_design
from bayesanno.simulation.simulate import simulate

if TYPE_CHECKING:
    import xarray

SEED = 2013
TOPICS = ("billing", "delivery", "quality", "other")
GOOD = ("ana", "bruno", "chloe", "dmitri", "elif", "farid", "grace", "hiro", "ines", "jonas", "kamala", "liam", "mei",
        "nadia", "omar", "priya")  # fmt: skip
MIXING_UP = ("quentin", "rosa", "sven", "tariq")
RANDOM, ALWAYS_OTHER, ALWAYS_BILLING, ADVERSARY, TWICE = "uma", "viktor", "wanda", "xavier", "yuki"


def make_crowd() -> tuple[AnnotationData, xarray.Dataset]:
    """Simulate `@crowd`.

    Returns
    -------
    AnnotationData, xarray.Dataset
        The annotations, with the true topics as `gold`; and the parameters that made them.
    """
    people = (*GOOD, *MIXING_UP, RANDOM, ALWAYS_OTHER, ALWAYS_BILLING, ADVERSARY, TWICE)
    tickets = [f"ticket{number:03d}" for number in range(1, 301)]
    asked = make_design(items=tickets, annotators=people, labels=TOPICS, per_item=(3, 7), random_seed=SEED)
    design = _ask_again(asked, TWICE)
    rng = np.random.default_rng([SEED, 1])
    confusion = np.stack([_confusion(person, rng) for person in people])  # (annotator, true_class, response)
    parameters = {"prevalence": [0.4, 0.3, 0.2, 0.1], "confusion": confusion}
    data, truth = simulate("model_b", design, parameters=parameters, random_seed=SEED)
    return AnnotationData.from_records(
        data.to_frame()[["item", "annotator", "label"]].to_numpy(), gold=data.gold
    ), truth


def _ask_again(design: AnnotationData, person: str) -> AnnotationData:
    """Let one person answer their items twice, wherever that makes no more than seven answers."""
    n_answers = np.bincount(design.item, minlength=design.n_items)[design.item]  # (annotation,)
    again = (design.annotator == design.annotators.index(person)) & (n_answers < 7)
    times = np.where(again, 2, 1)  # (annotation,)
    repeated = {name: np.repeat(getattr(design, name), times) for name in ("item", "annotator", "label")}
    return replace(design, **repeated)


def _confusion(person: str, rng: np.random.Generator) -> np.ndarray:
    """Return one person's confusion matrix, shape (true_class, response); it draws the accuracy of the good ones."""
    n = len(TOPICS)
    accuracy = rng.uniform(0.6, 0.9)
    matrix = np.where(np.eye(n, dtype=bool), accuracy, (1 - accuracy) / (n - 1))
    if person in MIXING_UP:
        matrix[1], matrix[2] = [0.05, 0.55, 0.35, 0.05], [0.05, 0.40, 0.50, 0.05]
    elif person == RANDOM:
        matrix[:] = 1 / n
    elif person in (ALWAYS_OTHER, ALWAYS_BILLING):
        chosen = TOPICS.index("other" if person == ALWAYS_OTHER else "billing")
        matrix[:] = np.where(np.arange(n) == chosen, 0.94, 0.02)
    elif person == ADVERSARY:
        matrix = np.roll(np.where(np.eye(n, dtype=bool), 0.85, 0.05), 1, axis=1)
    return matrix
