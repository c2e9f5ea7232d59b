"""Up to where NUTS: seconds per thousand effective draws by the size of a table, and what VB and EM get wrong.

    uv run python tests/benchmarks/large_tables.py --annotations 10000 30000 100000
    uv run python tests/benchmarks/large_tables.py --steps --annotations 1000000 10000000 --models one_coin model_b mace

Simulated tables of three labels, five answers an item and a hundred answers an annotator. Printed for each size and
model: seconds of sampling and of a whole fit by NUTS, the least effective sample size of the parameters, seconds per
1,000 effective draws; and of VB and EM the seconds of the fit, the mean absolute difference of label probabilities from
those by NUTS, the share of labels that differ, and the log odds of the best label over those by NUTS (median, of labels
that both give between .6 and .99). The largest resident memory is that of the process so far. With --steps: one step
of EM and of VB, and one gradient, beside one weighted `numpy.bincount` of the same annotations.

A step passes twice over the annotations, each time for all three classes: log probabilities are added up for each item,
then expected counts for each annotator. With a million annotations the two passes take half of a step of `model_b` by
EM, exponentials a sixth, and copies and the M-step a tenth each. The passes alone cost three times `bincount`. Reading
is not the limit: with three quarters of the bytes a step took as long.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import bayesanno as ba
from bayesanno._core.running import one_blas_thread
from bayesanno.inference.em_vb.em import EM
from bayesanno.inference.em_vb.vb import VB
from bayesanno.inference.modes.search import compile_model
from bayesanno.inference.settings import EMSettings, VBSettings
from bayesanno.modeling.expectation import make_blocks

PER_ITEM, PER_ANNOTATOR, LABELS = 5, 100, 3


def make_table(n: int, rng: np.random.Generator) -> ba.AnnotationData:
    """Return a table of about n answers, by annotators with confusion matrices of their own."""
    n_items, n_annotators = n // PER_ITEM, n // PER_ANNOTATOR
    truth = rng.choice(LABELS, n_items, p=[0.5, 0.3, 0.2])
    right = rng.beta(6, 3, size=(n_annotators, LABELS, 1))
    confusion = right * np.eye(LABELS) + (1 - right) * rng.dirichlet(np.ones(LABELS), size=(n_annotators, LABELS))
    item = np.repeat(np.arange(n_items), PER_ITEM)
    first = rng.integers(n_annotators, size=n_items)  # five different ones: steps of 1 to 5 from each other
    annotator = (first[:, None] + rng.integers(1, 6, (n_items, PER_ITEM)).cumsum(axis=1)).ravel() % n_annotators
    below = confusion[annotator, truth[item]].cumsum(axis=1)
    label = np.minimum((rng.uniform(size=(item.size, 1)) > below).sum(axis=1), LABELS - 1)
    return ba.AnnotationData(
        item=item, annotator=annotator, label=label, labels=("a", "b", "c"),
        items=tuple(f"i{i}" for i in range(n_items)), annotators=tuple(f"w{j}" for j in range(n_annotators)),
    )  # fmt: skip


def fit(model: str, data: ba.AnnotationData, **settings: Any) -> tuple[Any, np.ndarray, float]:
    """Fit, and return the fit, its label probabilities and the seconds that it took."""
    begin = time.perf_counter()
    found = ba.fit(model, data, random_seed=1, progressbar=False, check=False, **settings)
    seconds = time.perf_counter() - begin
    return found, ba.label_table(found)[["p[a]", "p[b]", "p[c]"]].to_numpy(), seconds


def compare_with(nuts: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Return how label probabilities differ from those by NUTS."""
    best, same = other.max(axis=1), nuts.argmax(axis=1) == other.argmax(axis=1)
    middle = same & (nuts.max(axis=1) > 0.6) & (nuts.max(axis=1) < 0.99) & (best < 1 - 1e-9)
    odds = [np.log(p / (1 - p)) for p in (best[middle], nuts.max(axis=1)[middle])]
    return {
        "difference": np.abs(nuts - other).mean(),
        "labels that differ": 1 - same.mean(),
        "log odds": float(np.median(odds[0] / odds[1])),
    }


@one_blas_thread()
def time_steps(data: ba.AnnotationData, models: list[str], repeats: int = 7) -> pd.DataFrame:
    """Return the CPU seconds of a step of EM and VB, of a gradient, and of a weighted `numpy.bincount`."""
    items, rng = make_blocks(data), np.random.default_rng(1)
    cell, weight = data.annotator * data.n_labels + data.label, rng.uniform(size=data.n_annotations)
    calls = {"numpy.bincount": lambda: np.bincount(cell, weight, data.n_annotators * data.n_labels)}
    for name in models:
        model = ba.get_model(name)
        for problem in (EM(model, data, items, EMSettings()), VB(model, data, items, VBSettings())):
            point = problem.begin(problem.draw(rng)).point
            calls[f"{name}, {problem.name}"] = lambda problem=problem, point=point: problem.step(point)
        density = compile_model(model, data, model.build(data))
        calls[f"{name}, gradient"] = partial(density, np.zeros(density.n_dim))
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):  # in turn, so that other work on the machine slows all alike
        for name, call in calls.items():
            begin = time.process_time()
            call()
            taken[name].append(time.process_time() - begin)
    found = pd.DataFrame({"CPU s": {name: statistics.median(each) for name, each in taken.items()}})
    found["ns an annotation"] = found["CPU s"] / data.n_annotations * 1e9
    found["times bincount"] = found["CPU s"] / found["CPU s"].iloc[0]
    return found


def main() -> None:
    """Time each size, model and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--annotations", nargs="+", type=int, default=[10_000, 30_000, 100_000])
    parser.add_argument("--models", nargs="+", default=["model_b", "mace"])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--steps", action="store_true", help="time single steps and gradients, and no fits")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    pd.set_option("display.width", 200)
    for n in options.annotations:
        data = make_table(n, np.random.default_rng(n))
        if options.steps:
            print(f"{n:,}\n{time_steps(data, options.models).to_string(float_format='{:.3g}'.format)}", flush=True)
            continue
        for model in options.models:
            sampled, nuts, seconds = fit(model, data, draws=options.draws, tune=options.draws, chains=options.chains)
            found, sampling = ba.diagnostics_of(sampled), float(sampled.attrs["seconds_sample"])
            rows = {"nuts": {"seconds": seconds}}
            for method in ("vb", "em"):
                _, other, took = fit(model, data, method=method)
                rows[method] = {"seconds": took, **compare_with(nuts, other)}
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"{n:,} {model}: sampling {sampling:.0f} s, min ESS {found['min_ess_bulk']:.0f}, R-hat "
                f"{found['max_rhat']:.3f}: {1000 * sampling / found['min_ess_bulk']:.0f} s per 1,000; {memory:.1f} GiB"
            )
            print(pd.DataFrame(rows).T.round(4).to_string(), flush=True)


if __name__ == "__main__":
    main()
