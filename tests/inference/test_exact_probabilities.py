"""How probable the package says the modes of model B are, against exact sums for small tables."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import betaln, logit
from scipy.stats import multivariate_t

import bayesanno as ba
from bayesanno.graph.draws import as_one_chain, unconstrain
from bayesanno.inference.model_density import compile_model
from bayesanno.inference.modes.probabilities import LAPLACE_ERROR
from tests.inference.answers import data_of
from tests.inference.exact_probabilities import CROSSING, TABLES, TIE, Table, weigh_exactly, weigh_table

QUICK = (Table("opposed", 5), Table("pairs", 0))  # the others are `slow`
OF_PAIRS = np.array([0.5, 0.5, -0.5, -0.5])
SETTINGS = {"random_seed": 1, "progressbar": False, "check": False}


# ------------------------------------------------------------------------------------------------------- the oracle


def test_the_sum_over_counts_is_that_over_all_assignments(rng):
    said = rng.integers(2, size=(10, 4))
    log_p, contrast, accuracy = [], [], []
    for classes in itertools.product((0, 1), repeat=10):
        of = np.array(classes)
        sizes = np.array([(of == 0).sum(), of.sum()])
        right = np.array([[(said[of == c, j] == c).sum() for c in (0, 1)] for j in range(4)])  # (annotator, class)
        a, b = 4.8 + right, 3.2 + sizes - right
        log_p.append(betaln(*(3 + sizes)) - betaln(3, 3) + (betaln(a, b) - betaln(4.8, 3.2)).sum())
        accuracy.append(a / (a + b) @ (3 + sizes) / 16)
        contrast.append(accuracy[-1] @ OF_PAIRS)
    p = np.exp(np.array(log_p) - np.logaddexp.reduce(log_p))
    above = np.array(contrast) > TIE
    exact = weigh_exactly(said, OF_PAIRS)
    assert exact.log_marginal == pytest.approx(np.logaddexp.reduce(log_p), abs=1e-10)
    assert exact.upper == pytest.approx(p @ above, abs=1e-10)
    both = [(p * part) @ np.array(accuracy) / (p @ part) for part in (above, ~above)]
    np.testing.assert_allclose(exact.accuracy, both, rtol=1e-10)


def test_the_marginal_likelihood_is_that_of_the_graph(rng):
    """Importance sampling of the density that NUTS sees, from a t distribution of the shape of the prior."""
    said = rng.integers(2, size=(5, 4))
    model, data = ba.get_model("model_b"), data_of(said, ("no", "yes"))
    graph = model.build(data)
    n = 20_000
    drawn = [
        {"prevalence": rng.dirichlet([3, 3]), "confusion": rng.dirichlet([4.8, 3.2], size=(4, 2))} for _ in range(1000)
    ]
    for one in drawn:
        one["confusion"][:, 1] = one["confusion"][:, 1, ::-1]
    z = unconstrain(graph, as_one_chain(graph, drawn))[0]  # (draw, dimension)
    proposal = multivariate_t(z.mean(axis=0), np.cov(z.T), df=5)
    points = proposal.rvs(n, random_state=rng)
    log_ratio = compile_model(model, data, graph).log_at(points) - proposal.logpdf(points)
    ratio = np.exp(log_ratio - log_ratio.max())
    error = ratio.std() / ratio.mean() / np.sqrt(n)
    assert error < 0.02
    found = log_ratio.max() + np.log(ratio.mean())
    assert found == pytest.approx(weigh_exactly(said, OF_PAIRS).log_marginal, abs=4 * error)


@pytest.mark.slow
def test_tables_have_two_modes_of_which_both_are_probable():
    for tables, border in ((TABLES, 0.02), (CROSSING, 0.15)):
        for table in tables:
            exact = weigh_table(table)
            assert exact.lesser > 0.02, table
            assert exact.border < border * exact.lesser, table
            if table.kind == "pairs":  # and not four: what is mirrored has none
                mirrored = weigh_exactly(table.said(), np.full(4, 0.25))
                assert 1 - mirrored.upper < 0.02 * exact.lesser, table
    assert len(TABLES) == 20
    assert min(weigh_table(table).lesser for table in TABLES) < 0.04
    assert max(weigh_table(table).lesser for table in TABLES) > 0.45


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
    found = [mode["probability"] for mode in ba.diagnostics_of(fit)["modes"]["found"] if mode["probability"] >= 0.01]
    wrong = []
    # which is which does not matter: the two shares are as far apart in any order
    if len(found) != 2:
        wrong.append(f"{len(found)} modes were found")
    elif abs(logit(min(found) / sum(found)) - logit(lesser)) > LAPLACE_ERROR:
        wrong.append(f"Laplace's method has {min(found):.3f} for {lesser:.3f}")
    probabilities, errors = ([part.attrs[name] for part in parts] for name in ("probability", "probability_error"))
    if len(parts) == 2:
        true = [exact.upper, 1 - exact.upper]
    else:  # all chains are said to be in one mode: that of most draws, or in both, if draws of both are there
        share = (1 - above if exact.upper > 0.5 else above).mean()  # of draws, in the lesser mode
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
        for table in (*TABLES, *CROSSING)
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
