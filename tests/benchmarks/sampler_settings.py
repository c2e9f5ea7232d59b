"""Settings of nutpie compared: effective draws per CPU second of sampling and per gradient, on several tables.

    uv run python tests/benchmarks/sampler_settings.py --seeds 1 2

Each setting samples the same posteriors from the same starts with the same seeds, on one core: four chains of 1,000
draws, after 1,000 tuning steps unless the setting has another number. Columns 1 to 6 are relative to the first setting,
as geometric means over seeds: the bulk and tail ESS, least and median over all parameters, per CPU second of sampling,
and the least ones per gradient. CPU seconds include tuning, but not the search for modes. Then come gradients per draw,
the largest R-hat, and the divergences of all seeds. "apart" is the root mean square of the differences in means from
the first setting, in Monte Carlo standard errors: about 1 if they differ only by chance.

nutpie takes no initial mass matrix. Rescaled points have the same effect: nutpie samples u, and the density gets
mode + S u. S contains the standard deviations of each number given all others ("scaled by sds"), or it is a root of the
inverse of the negative Hessian ("scaled by the Hessian"). These are Python functions, so only gradients are compared.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import arviz_stats as azs
import numpy as np
import nutpie
import pandas as pd

import bayesanno as ba
from bayesanno._core.private.nutpie import make_compiled_model
from bayesanno.inference.sampling.starts import Starts, choose_starts

PAIRS = (
    "mace @crowd", "mace @rte", "model_b @rte", "one_coin @temporal", "ordinal_dawid_skene @anesthesia",
    "hierarchical_dawid_skene @wsd", "item_difficulty @wsd",
)  # fmt: skip
MOST_LOW_RANK = 110  # dimensions: with 250, tuning a low-rank mass matrix takes three minutes
SETTINGS: dict[str, dict[str, Any]] = {
    "tune 1000": {},
    "all stored": dict.fromkeys(("store_gradient", "store_unconstrained", "store_mass_matrix"), True),
    **{f"tune {steps}": {"tune": steps} for steps in (500, 300, 200)},
    "low rank": {"adaptation": "low_rank"},
    "low rank, tune 300": {"adaptation": "low_rank", "tune": 300},
    "draw_diag": {"adaptation": "draw_diag"},
    **{f"accept {rate}": {"target_accept": rate} for rate in (0.7, 0.9)},
    "scaled by sds, tune 300": {"scale": "sds", "tune": 300},
    "scaled by the Hessian": {"scale": "Hessian"},
    "scaled by the Hessian, tune 300": {"scale": "Hessian", "tune": 300},
}


def prepare(pair: str) -> Starts:
    """Return the density of a model and a table, and the starts of its chains, as in a fit with defaults."""
    name, source = pair.split()
    data = ba.read_annotations(source)
    model = ba.get_model(name)
    budget = {"n_starts": 20, "most_gradients": 12_000}
    return choose_starts(model.build(data), model, data, "auto", random_seed=1, **budget)


def rescale(starts: Starts, scale: str) -> Any:
    """Return a model for nutpie whose points are rescaled by the curvature at the mode with the most mass."""
    density, mode = starts.density, starts.modes.found[0]
    inverse = np.diag(1 / mode.sd) if scale == "sds" else mode.root
    matrix = np.linalg.inv(inverse)

    def logp(point: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = density(mode.point + matrix @ point)
        return value, matrix.T @ gradient

    shapes = [density.parts[name][1] for name in density.names]
    return nutpie.compiled_pyfunc.from_pyfunc(
        density.n_dim,
        make_logp_fn=lambda: logp,
        make_expand_fn=lambda *_: lambda point: density.values_at(mode.point + matrix @ point),
        expanded_dtypes=[np.dtype("float64")] * len(shapes),
        expanded_shapes=shapes,
        expanded_names=list(density.names),
        make_initial_point_fn=lambda seed: inverse @ (starts.draw(seed) - mode.point),
    )


def sample(starts: Starts, *, draws: int = 1000, tune: int = 1000, scale: str = "", **settings: Any) -> dict[str, Any]:
    """Sample, and return what it took, and means with their standard errors."""
    density = starts.density
    plain = make_compiled_model(density.functions, density.parts, density.n_dim, starts.draw)
    model = rescale(starts, scale) if scale else plain
    begin = time.process_time()
    tree = nutpie.sample(model, draws=draws, tune=tune, chains=4, cores=1, progress_bar=False, **settings)
    seconds = np.nan if scale else time.process_time() - begin
    posterior, stats = tree["posterior"].to_dataset()[list(density.names)], tree["sample_stats"]
    gradients = float(stats["n_steps"].sum() + tree["warmup_sample_stats"]["n_steps"].sum())
    ess = {kind: _join(azs.ess(posterior, method=kind)) for kind in ("bulk", "tail")}
    rates = {f"{kind} {of}": by(ess[kind]) for kind in ess for of, by in (("min", np.min), ("median", np.median))}
    return {
        **{f"{name} / s": value / seconds for name, value in rates.items()},
        **{f"{name} / gradient": value / gradients for name, value in rates.items() if "min" in name},
        "gradients per draw": float(stats["n_steps"].mean()),
        "R-hat": _join(azs.rhat(posterior)).max(),
        "divergences": int(stats["diverging"].sum()),
        "mean": _join(posterior.mean(("chain", "draw"))),
        "mcse": _join(azs.mcse(posterior)),
    }


def _join(dataset: Any) -> np.ndarray:
    return np.concatenate([values.values.ravel() for values in dataset.values()])


def compare(starts: Starts, seeds: list[int], chosen: list[str]) -> pd.DataFrame:
    """Return the table of one posterior, a row per setting."""
    known, few = starts.modes.found[0].root is not None, starts.density.n_dim <= MOST_LOW_RANK
    used = [name for name in chosen if (known or "Hessian" not in name) and (few or "low rank" not in name)]
    sample(starts, draws=10, tune=10, seed=0)  # imports
    runs = [(name, sample(starts, seed=seed, **SETTINGS[name])) for seed in seeds for name in used]
    of = {name: [run for other, run in runs if other == name] for name in used}
    rows = []
    for found in of.values():
        first, row = of[used[0]], {}
        for column in (column for column in found[0] if " / " in column):
            row[column] = np.exp(np.mean([np.log(a[column] / b[column]) for a, b in zip(found, first, strict=True)]))
        row["gradients per draw"] = np.mean([run["gradients per draw"] for run in found])
        row |= {"R-hat": max(run["R-hat"] for run in found), "divergences": sum(run["divergences"] for run in found)}
        z = [(a["mean"] - b["mean"]) / np.hypot(a["mcse"], b["mcse"]) for a, b in zip(found, first, strict=True)]
        rows.append(row | {"apart": np.sqrt(np.mean(np.square(z)))})
    return pd.DataFrame(rows, index=used)


def show(table: pd.DataFrame) -> str:
    """Return a table as Markdown; unknown numbers are left out."""
    digits = {"gradients per draw": ".1f", "R-hat": ".3f", "divergences": ".0f"}
    rows = [
        [name, *("" if np.isnan(value) else f"{value:{digits.get(column, '.2f')}}" for column, value in row.items())]
        for name, row in table.iterrows()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [["", *table], ["---"] * (1 + table.shape[1]), *rows])


def main() -> None:
    """Print a table for each posterior, then the least of each ratio over all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", default=PAIRS, help="a model and a table each")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = []
    for pair in options.pairs:
        starts = prepare(pair)
        tables.append(compare(starts, options.seeds, options.settings))
        print(f"\n{pair}, {starts.density.n_dim} dimensions\n\n{show(tables[-1])}", flush=True)
    ratios = [column for column in tables[0] if " / " in column]
    every = pd.concat(tables).groupby(level=0, sort=False)
    least = every[ratios].min().assign(**{"R-hat": every["R-hat"].max(), "divergences": every["divergences"].sum()})
    print(f"\nThe least over all, the largest R-hat, and the sum of divergences\n\n{show(least)}")


if __name__ == "__main__":
    main()
