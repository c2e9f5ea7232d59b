"""Tables of annotations from arrays of answers."""

import numpy as np

import bayesanno as ba


def data_of(answers, labels, *, truth=None, **more):
    """Annotations of answers (item, annotator), codes of labels, -1 where there is none; `truth` becomes the gold."""
    item, annotator = np.nonzero(answers >= 0)
    items = tuple(f"item {code:03d}" for code in range(len(answers)))
    gold = {} if truth is None else dict(zip(items, np.array(list(labels))[truth].tolist(), strict=True))
    annotators = tuple(f"a{code:02d}" for code in range(answers.shape[1]))
    return ba.AnnotationData(
        item=item, annotator=annotator, label=answers[item, annotator], items=items, annotators=annotators,
        labels=tuple(labels), gold=gold, **more,
    )  # fmt: skip


def noisy(truth, accuracy, n_labels, rng):
    """Answers that are right with a probability, and otherwise any other label."""
    wrong = (truth + rng.integers(1, n_labels, truth.size)) % n_labels
    return np.where(rng.random(truth.size) < accuracy, truth, wrong)
