"""Agreement of very many labels fits in memory."""

import tracemalloc

import numpy as np

import bayesanno as ba
from bayesanno.cli.agreement import tabulate


def scatter_answers(n_items, n_labels, n_annotators=20, each=4):
    """Answers to items whose true labels are spread over very many."""
    rng = np.random.default_rng(5)
    truth = rng.integers(n_labels, size=(n_items, 1))
    said = np.where(rng.random((n_items, each)) < 0.6, truth, rng.integers(n_labels, size=(n_items, each)))
    who = np.argsort(rng.random((n_items, n_annotators)), axis=1)[:, :each]
    return ba.AnnotationData(
        item=np.repeat(np.arange(n_items), each),
        annotator=who.ravel(),
        label=said.ravel(),
        items=tuple(f"s{n}" for n in range(n_items)),
        annotators=tuple(f"a{n}" for n in range(n_annotators)),
        labels=tuple(str(code) for code in range(n_labels)),
    )


def test_memory_is_flat_in_items_times_labels_squared():
    """Ten times the labels add a table of items x labels and one of labels x labels; not 2,000 of the latter."""
    peak = {}
    for n_labels in (100, 996):
        data = scatter_answers(2_000, n_labels)
        tracemalloc.start()
        tabulate(data, ordered=None, sets=False, resamples=100, random_seed=1)
        peak[n_labels] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    by_item, by_label = 2_000 * 996 * 8, 996**2 * 8  # bytes
    assert peak[996] < 1.5 * peak[100] + by_item + by_label, peak
