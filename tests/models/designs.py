"""The tiny designs that models are looked at on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from bayesanno import AnnotationData
from tests.models.references import Said

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORDS = (
    ("s1", "ada", "no"),
    ("s1", "ada", "yes"),  # ada answers twice
    ("s1", "bo", "no"),
    ("s2", "cy", "yes"),
    ("s2", "bo", "yes"),
    ("s2", "ada", "no"),
    ("s3", "cy", "no"),
    ("s5", "ada", "no"),  # the answers of s2 in another order
    ("s5", "bo", "yes"),
    ("s5", "cy", "yes"),
    ("s6", "cy", "yes"),
    ("s6", "cy", "yes"),  # cy repeats the same answer
)
ITEMS = ("s1", "s2", "s3", "s4", "s5", "s6")  # s4 has no annotation
LABELS = ("no", "perhaps", "yes")  # nobody says "perhaps"


@dataclass(frozen=True)
class Designs:
    """The tiny designs, with these labels: the first, the last, and whatever is between, which nobody says."""

    labels: tuple[str, ...]

    def annotations(self, *more: tuple[str, str, str], controls: Mapping[str, str] | None = None) -> AnnotationData:
        """The records, and more."""
        return AnnotationData.from_records([*RECORDS, *more], items=ITEMS, labels=self.labels, controls=controls)

    @cached_property
    def tiny(self) -> AnnotationData:
        return self.annotations()

    @cached_property
    def every_label(self) -> AnnotationData:
        """What models take from data beforehand, they take from these, where all labels are used."""
        return self.annotations(("s4", "bo", self.labels[1]), ("s4", "cy", self.labels[1]))

    @cached_property
    def controlled(self) -> AnnotationData:
        return self.annotations(controls={"s1": "yes", "s4": self.labels[1], "s5": "no"})

    def two_items(
        self, said: tuple[int, ...] | None = None, *, control: str | None = None, moved: int = 0
    ) -> AnnotationData:
        """Item u, which ada answers twice and bo once, and item v, which bo and cy answer: five answers."""
        last = len(self.labels) - 1
        return AnnotationData(
            item=[0, 0, 0, 1, 1],
            annotator=[(annotator + moved) % 3 for annotator in (0, 0, 1, 1, 2)],
            label=[0, last, 0, 0, last] if said is None else list(said),
            items=("u", "v"),
            annotators=("ada", "bo", "cy"),
            labels=self.labels,
            controls={} if control is None else {"u": control},
        )

    def answers_to(self, n_questions: int) -> list[tuple[int, ...]]:
        return list(product(range(len(self.labels)), repeat=n_questions))

    def at_random(self, rng: np.random.Generator, *, controls: bool) -> AnnotationData:
        """Up to 25 answers to any items, of which no item has more than 8, since model_a takes no more."""
        of_item = np.minimum(np.bincount(rng.integers(len(ITEMS), size=rng.integers(1, 26)), minlength=len(ITEMS)), 8)
        item = np.repeat(np.arange(len(ITEMS)), of_item)
        known = rng.integers(-3, len(self.labels), size=len(ITEMS)) if controls else []
        return AnnotationData(
            item=rng.permutation(item),
            annotator=rng.integers(3, size=item.size),
            label=rng.integers(len(self.labels), size=item.size),
            items=ITEMS,
            annotators=self.tiny.annotators,
            labels=self.labels,
            controls={name: self.labels[k] for name, k in zip(ITEMS, known, strict=False) if k >= 0},
        )

    @property
    def starts(self) -> list[AnnotationData]:
        """Tables on which starting values are looked at."""
        three = [("s1", "ada", "no"), ("s2", "bo", "yes"), ("s2", "cy", "yes")]
        last = len(self.labels) - 1
        silent = replace(self.tiny, item=[1, 1, 1], annotator=[0, 0, 2], label=[last, 0, last])
        return [self.tiny, AnnotationData.from_records(three, items=ITEMS, labels=self.labels), silent]


THREE_LABELS, TWO_LABELS = Designs(LABELS), Designs(("no", "yes"))
TINY, CONTROLLED = THREE_LABELS.tiny, THREE_LABELS.controlled


def replicate(data: AnnotationData, copies: int) -> AnnotationData:
    """The same items many times, copy after copy."""
    shift = np.repeat(np.arange(copies), data.n_annotations) * data.n_items
    return AnnotationData(
        item=np.tile(data.item, copies) + shift,
        annotator=np.tile(data.annotator, copies),
        label=np.tile(data.label, copies),
        items=tuple(f"{name}.{copy}" for copy in range(copies) for name in data.items),
        annotators=data.annotators,
        labels=data.labels,
        controls={f"{name}.{copy}": label for copy in range(copies) for name, label in data.controls.items()},
    )


def said_of(data: AnnotationData, item: int) -> Said:
    return [(int(data.annotator[n]), int(data.label[n])) for n in np.flatnonzero(data.item == item)]
