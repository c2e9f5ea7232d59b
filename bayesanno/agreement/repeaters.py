"""Annotators who nearly always give one label, also where others give another label to the same items.

A label that an annotator gives nine times in ten may be the class of nine items in ten. So such an annotator is
compared with others who answered the same items, and is a repeater only if they give the label far more rarely, and the
annotator gives it also where they give another. Where several repeat one label, they must also not agree on the items
where it is wrong: able annotators agree on a rare class that less able ones do not see.

Where all annotators nearly always give one label there is nobody to compare with, and no repeater is found: a habit of
all looks like a class. And where a table has no item of the rare class, or one, the agreement of able annotators cannot
be seen. Sixty tables (400 items, a class of .01; five annotators of .97 and one of .70) were tried: the five were taken
for repeaters in four tables, which had no item of the class, or one. In 320 tables with classes of .03 and more there
was no warning before a fit. In 270 tables, five of eight annotators had a habit (kept in .90 to .97 of their answers;
two to four labels): all who gave one label that often were found in 266 of them, and some in the other four.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesanno.data.annotations import AnnotationData

MIN_ANSWERS = 10  # fewer answers that are all the same are no evidence
MIN_SHARE = 0.9  # of an annotator's answers have one label
MAX_OF_OTHERS = 0.75  # of the answers of others to the same items have it
MIN_ERRORS = 3.0  # standard errors, of the difference between the two
MIN_KEPT = 0.8  # of the others' answers with another label are to items to which the annotator gives the label
MIN_AGREED = 0.1  # of one repeater's answers with another label are matched by another repeater, where the two agree,
MIN_ERRORS_ABOVE_CHANCE = 4.0  # and that share is so many standard errors above chance


class Repeaters(NamedTuple):
    """Annotators who nearly always give one label, regardless of what others say of the same items.

    Attributes
    ----------
    annotators, labels : tuple of str
        Their names, and the label that each of them repeats.
    shares : tuple of float
        The share of all answers that each of them gave; unsure ones are left out, as everywhere here.
    """

    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    shares: tuple[float, ...]


def find_repeaters(data: AnnotationData) -> Repeaters:
    """Find annotators who give one label nearly always, and far more often than others of the same items.

    Examples
    --------
    >>> from bayesanno import AnnotationData
    >>> from bayesanno.agreement.repeaters import find_repeaters
    >>> truth = ["no", "yes"] * 10
    >>> said = [(f"s{item}", who, label) for item, label in enumerate(truth) for who in ("ada", "bo")]
    >>> find_repeaters(AnnotationData.from_records([*said, *((f"s{item}", "cy", "no") for item in range(20))]))
    Repeaters(annotators=('cy',), labels=('no',), shares=(0.3333333333333333,))
    """
    if data.unsure_by_annotator.sum() == data.n_annotations:
        return Repeaters((), (), ())
    sure = data.without_unsure()
    counts = sure.usage  # (annotator, label)
    given, usual = counts.sum(axis=1), counts.argmax(axis=1)  # (annotator,)
    often = (given >= MIN_ANSWERS) & (counts.max(axis=1) >= MIN_SHARE * given)  # (annotator,)
    found = np.zeros_like(often)
    for label in np.unique(usual[often]).tolist():
        found |= _find_unlike_others(sure, label, often & (usual == label))
    who = np.flatnonzero(found).tolist()
    return Repeaters(
        tuple(sure.annotators[one] for one in who),
        tuple(sure.labels[usual[one]] for one in who),
        tuple((given[found] / given.sum()).tolist()),
    )


def _find_unlike_others(data: AnnotationData, label: int, group: np.ndarray) -> np.ndarray:
    """Return who of a group (annotator,) gives its common label regardless of what others say; (annotator,)."""
    item, said = data.item, (data.label == label).astype(float)  # (annotation,)
    rest = ~group[data.annotator]  # (annotation,)
    n, n_said = (np.bincount(item[rest], of[rest], data.n_items)[item] for of in (np.ones_like(said), said))

    def add_up(values: np.ndarray) -> np.ndarray:
        return np.bincount(data.annotator, np.where(n > 0, values, 0.0), data.n_annotators)  # (annotator,)

    # Were annotator and others alike, each answer to the item would be as likely as the others to be the annotator's.
    chance = (n_said + said) / (n + 1)  # (annotation,)
    more, error = add_up(said - chance), np.sqrt(add_up(chance * (1 - chance)))
    others, theirs = add_up(n), add_up(n_said)  # (annotator,)
    kept = add_up(said * (n - n_said))
    unlike: np.ndarray = (
        group & (others > 0) & (theirs <= MAX_OF_OTHERS * others) & (kept >= MIN_KEPT * (others - theirs))
    )
    unlike &= more >= MIN_ERRORS * error
    return np.zeros_like(unlike) if _agree(data, said, unlike[data.annotator]) else unlike


def _agree(data: AnnotationData, said: np.ndarray, within: np.ndarray) -> bool:
    """Whether some annotators, of the annotations `within`, agree on where the label is not that they give often."""
    item, other = data.item[within], 1 - said[within]  # (annotation,)
    _, own = np.unique(item * data.n_annotators + data.annotator[within], return_inverse=True)  # (annotation,)
    against = np.bincount(item, other, data.n_items)[item] - np.bincount(own, other)[own]  # answers by others of them
    together, all_of_them = float((other * against).sum()), float(against.sum())
    by_chance = all_of_them * other.mean() if other.size else 0.0
    error = np.sqrt(2 * by_chance)  # of a count in which every pair is twice
    return together > MIN_AGREED * all_of_them and together > by_chance + MIN_ERRORS_ABOVE_CHANCE * error
