"""The probabilities of two modes as the package estimates them, against the exact ones of tables of model B.

    uv run python -m tests.benchmarks.exact_probabilities --tables 20
    uv run python -m tests.benchmarks.exact_probabilities --which crossing --seeds 3

40 items, two labels, four annotators, and two modes of which the lesser has a probability of 2% to 50%; in the tables
where chains cross, the modes are less far apart. For each fit: the lesser mode's exact probability; that by Laplace's
method, as the fit has it, and how far that is off in nats of log odds; that by `split_modes`, the stated error, and z,
the distance from the exact one in such errors, or where all chains are said to be in one mode, the probability of the
whole; R-hat; the chains that crossed, as the fit has it from a few draws, and as all draws show; and each chain's share
of draws on the lesser mode's side.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

import bayesanno as ba
from bayesanno.graph.draws import as_one_chain, unconstrain
from bayesanno.inference.model_density import compile_model
from bayesanno.inference.modes.laplace import LogDensity
from tests.inference.exact_probabilities import CROSSING, TABLES, ExactModes, Table, weigh_table

CROSSED = 0.01  # of a chain's draws: with so many on both sides, it has crossed


def shares_below(fit: Any, table: Table) -> np.ndarray:
    """Return each chain's share of draws whose contrast is negative, (chain,)."""
    contrast = (fit["posterior"]["accuracy"].transpose("chain", "draw", "annotator").values - 0.5) @ table.contrast
    found: np.ndarray = (contrast < 0).mean(axis=1)
    return found


def number_of(table: Table, exact: ExactModes, found: Sequence[Mapping[str, Any]], *, above: bool) -> int | None:
    """Return which of the modes that a fit has found is the upper, or the lower: the one uphill of its mean."""
    model, data = ba.get_model("model_b"), table.data()
    graph = model.build(data)
    right = exact.accuracy[0 if above else 1]  # (annotator,)
    rows = np.stack([np.stack([right, 1 - right], axis=1), np.stack([1 - right, right], axis=1)], axis=1)
    values = {"prevalence": np.full(2, 0.5), "confusion": rows}
    (start,) = unconstrain(graph, as_one_chain(graph, [values]))[0]
    top = LogDensity(compile_model(model, data, graph), 1000).maximize(start)
    near = [number for number, mode in enumerate(found) if abs(mode["log_density"] - top.log_density) < 0.01]
    return near[0] if len(near) == 1 else None


def compare(table: Table, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Fit one table, and set the probabilities of its modes beside the exact ones."""
    exact = weigh_table(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = ba.fit("model_b", table.data(), random_seed=seed, progressbar=False, check=False, **settings)
        parts = ba.split_modes(fit, random_seed=seed)
    below = shares_below(fit, table)
    diagnostics = ba.diagnostics_of(fit)
    modes = diagnostics["modes"]
    lesser_is_below = exact.upper > 0.5
    row: dict[str, Any] = {"table": f"{table.kind} {table.seed}", "seed": seed, "exact": exact.lesser}

    number = number_of(table, exact, modes["found"], above=not lesser_is_below)
    row["modes"] = sum(mode["probability"] >= 0.01 for mode in modes["found"])
    if number is not None:
        row["laplace"] = modes["found"][number]["probability"]
        row["nats"] = logit(row["laplace"]) - logit(exact.lesser)
    if len(parts) == 2:
        first_is_below = shares_below(parts[0], table).mean() > shares_below(parts[1], table).mean()
        part = parts[0 if first_is_below == lesser_is_below else 1]
        row |= {"split": part.attrs["probability"], "error": part.attrs["probability_error"]}
        row |= {"by": part.attrs["probability_by"], "z": (row["split"] - exact.lesser) / row["error"]}
        row["reason"] = part.attrs["probability_reason"]
    else:
        row |= {"whole": parts[0].attrs["probability"], "error": parts[0].attrs["probability_error"]}
    row["parts"] = len(parts)
    row["rhat"] = diagnostics["max_rhat"]
    row["crossing"] = len(modes["crossing"])
    row["crossed"] = int(((below > CROSSED) & (below < 1 - CROSSED)).sum())
    row["on its side"] = " ".join(f"{share:.3f}" for share in (below if lesser_is_below else 1 - below))
    return row


def tell(rows: pd.DataFrame) -> None:
    """Print how far the estimates are off, apart for fits of which a chain crossed."""
    if "nats" in rows:
        nats = rows["nats"].abs()
        print(f"\nLaplace's method: off by {nats.mean():.3f} nats on average, {nats.max():.3f} at the most")
    if "z" not in rows:
        return
    for crossed, some in rows[rows["z"].notna()].groupby(rows["crossed"] > 0):
        for by, own in some.groupby("by"):
            z = own["z"]
            print(f"{'a chain crossed' if crossed else 'no chain crossed'}, by {by}, {len(own)} fits: "
                  f"mean square of z {(z**2).mean():.2f}, greatest |z| {z.abs().max():.1f}, "
                  f"beyond 3 errors {(z.abs() > 3).sum()}")  # fmt: skip


def main() -> None:
    """Print a row per fit, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--which", choices=("apart", "crossing"), default="apart")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1, help="fits of each table")
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    pd.set_option("display.width", 250)
    tables = (TABLES if options.which == "apart" else CROSSING)[: options.tables]
    rows = []
    columns = ["table", "seed", "exact", "modes", "laplace", "nats", "split", "whole", "error", "by", "z", "parts",
               "rhat", "crossing", "crossed", "on its side", "reason"]  # fmt: skip
    for table in tables:
        for seed in range(1, options.seeds + 1):
            rows.append(compare(table, seed, {"draws": options.draws, "tune": 1000, "chains": 4}))
            shown = pd.DataFrame(rows[-1:]).reindex(columns=columns)
            print(shown.to_csv(sep="\t", index=False, header=len(rows) == 1, float_format="%.3f").rstrip(), flush=True)
    tell(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
