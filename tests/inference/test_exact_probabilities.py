"""How probable the package says the modes of model B are, against exact sums for small tables."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import betaln

import bayesanno as ba
from tests.inference.exact_probabilities import TABLES, TIE, Table, weigh_exactly, weigh_table

QUICK = (Table("opposed", 5), Table("pairs", 0))  # the others are `slow`
OF_PAIRS = np.array([0.5, 0.5, -0.5, -0.5])
SETTINGS = {"random_seed": 1, "progressbar": False, "check": False}


# ------------------------------------------------------------------------------------------------------- the oracle


def test_the_sum_over_counts_is_that_over_all_assignments(rng):
    said = rng.integers(2, size=(10, 4))
    log_p, contrast = [], []
    for classes in itertools.product((0, 1), repeat=10):
        of = np.array(classes)
        sizes = np.array([(of == 0).sum(), of.sum()])
        right = np.array([[(said[of == c, j] == c).sum() for c in (0, 1)] for j in range(4)])  # (annotator, class)
        a, b = 4.8 + right, 3.2 + sizes - right
        log_p.append(betaln(*(3 + sizes)) - betaln(3, 3) + (betaln(a, b) - betaln(4.8, 3.2)).sum())
        contrast.append(a / (a + b) @ (3 + sizes) / 16 @ OF_PAIRS)
    p = np.exp(np.array(log_p) - np.logaddexp.reduce(log_p))
    assert weigh_exactly(said, OF_PAIRS).upper == pytest.approx(p @ (np.array(contrast) > TIE), abs=1e-10)


# --------------------------------------------------------------------------------------------------------- the fits


def fitted(table, **more):
    """Return the fit of a table, its modes' own fits, the upper one's first, and of each chain the share above."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = ba.fit("model_b", table.data(), **SETTINGS, **more)
        parts = ba.split_modes(fit, random_seed=1)
    return fit, sorted(parts, key=lambda part: -share_above(part, table).mean()), share_above(fit, table)


def share_above(fit, table):
    accuracy = fit["posterior"]["accuracy"].transpose("chain", "draw", "annotator").values
    return ((accuracy - 0.5) @ table.contrast > 0).mean(axis=1)


def judge(table):
    """Return what is wrong with the probabilities that are printed of a table; an empty list if nothing is."""
    exact = weigh_table(table)
    fit, parts, above = fitted(table)
    lesser = exact.lesser
    record, wrong = ba.diagnostics_of(fit)["modes"], []
    found = [mode["probability"] for mode in record["found"] if mode["probability"] >= 0.01]
    of_samples = np.sqrt(lesser * (1 - lesser) / record["n_effective"])
    # which is which does not matter: the two shares are as far apart in any order
    if len(found) != 2:
        wrong.append(f"{len(found)} modes were found")
    elif abs(min(found) / sum(found) - lesser) > 3 * of_samples + exact.border:
        wrong.append(f"importance samples have {min(found):.3f} +- {of_samples:.3f} for {lesser:.3f}")
    probabilities, errors = ([part.attrs[name] for part in parts] for name in ("probability", "probability_error"))
    share = (1 - above if exact.upper > 0.5 else above).mean()  # of draws, in the lesser mode
    if len(parts) == 2:
        true = [exact.upper, 1 - exact.upper]
    elif errors[0]:  # the other mode is one that chains only visit
        true = [lesser if share > 0.5 else 1 - lesser]
    else:  # all chains are said to be in one mode: that of most draws, or in both, if draws of both are there
        true = [1.0 if share > lesser / 2 else 1 - lesser]
    for p, error, own in zip(probabilities, errors, true, strict=True):
        if not abs(p - own) <= 3 * error + exact.border:
            wrong.append(
                f"{p:.3f} +- {error:.3f} for {own:.3f} by {parts[0].attrs['probability_by']}, {len(parts)} parts"
            )
    return [f"{table.kind} {table.seed}, {' '.join(f'{one:.3f}' for one in above)} above: {one}" for one in wrong]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(table, id=f"{table.kind}-{table.seed}", marks=() if table in QUICK else pytest.mark.slow)
        for table in TABLES
    ],
)
def test_the_probabilities_that_are_printed_are_exact_within_their_error(table):
    assert judge(table) == []


@pytest.mark.filterwarnings("ignore::bayesanno.ConvergenceWarning")
def test_a_chain_that_ends_in_the_other_mode_moves_no_probability():
    """Without a search before sampling, modes are found from draws of each chain, the last one first."""
    table = Table("opposed", 11)
    exact = weigh_table(table)
    fit, _, above = fitted(table, initvals="prior", draws=2000)
    accuracy = fit["posterior"]["accuracy"].transpose("chain", "draw", "annotator").values
    contrast = ((accuracy - 0.5) @ table.contrast)[np.abs(above - 0.5).argmin()]  # of the chain that crosses most
    assert contrast.min() < 0 < contrast.max()  # so that this tests something
    last = contrast.argmin()  # a draw of the lesser mode
    moved = fit.isel(draw=np.append(np.delete(np.arange(2000), last), last))
    best = max(ba.split_modes(moved, random_seed=1), key=lambda part: share_above(part, table).mean())
    assert best.attrs["probability"] == pytest.approx(
        exact.upper, abs=3 * best.attrs["probability_error"] + exact.border
    )
