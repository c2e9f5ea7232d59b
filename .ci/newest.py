"""Fit three models with whatever is installed: whether the newest releases below this package still serve it.

It prints versions, and for each model whether its graph went through what bayesanno compiles, or fell back to what the
libraries document: as right, and slower.
"""

import io
import logging
import sys
import time
import traceback
import warnings
from importlib.metadata import version

import bayesanno as ba

LIBRARIES = ("nutpie", "pymc", "pytensor", "llvmlite", "numba", "arviz", "numpy", "pandas", "xarray")
FALLBACKS = ("compiled by nutpie", "nutpie differs")  # in the log


def fit_and_describe(model: str, data: object) -> str:
    """Fit a model with few draws, and say how that went."""
    begin, log = time.perf_counter(), io.StringIO()
    logging.basicConfig(stream=log, level=logging.INFO, force=True)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fit = ba.fit(model, data, draws=100, tune=200, chains=2, random_seed=1, progressbar=False)
    fallback = next((line for line in log.getvalue().splitlines() if any(one in line for one in FALLBACKS)), None)
    old = {
        str(one.message).splitlines()[0]
        for one in warned
        if issubclass(one.category, DeprecationWarning | FutureWarning)
    }
    path = "bayesanno's own compiled code" if fallback is None else f"FALLBACK, {fallback}"
    lines = [f"{model}: {fit['posterior'].sizes['draw']} draws in {time.perf_counter() - begin:.0f} s by {path}"]
    return "\n".join([*lines, *(f"  deprecated: {line}" for line in sorted(old))])


def main() -> int:
    """Fit each model, and return how many could not be fitted."""
    print(", ".join(f"{name} {version(name)}" for name in LIBRARIES))
    answers = ba.read_annotations("@crowd")
    counts = ba.CountData.from_annotations(answers, positive=answers.labels[0])
    failed = 0
    for model, data in (("mace", answers), ("model_b", answers), ("binomial_mixture", counts)):
        try:
            print(fit_and_describe(model, data), flush=True)
        except Exception:
            failed += 1
            print(f"{model}: FAILED\n{traceback.format_exc()}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
