"""Model B on one data set: bayesanno against NumPyro's enumerated model, side by side in one run.

    uv run --group benchmarks python tests/benchmarks/numpyro_dawid_skene.py @rte

Both sample the same posterior (same priors, same data, same chains, draws and target acceptance rate). What is compared
is the smallest bulk ESS over all parameters per second of sampling; importing and compiling are shown apart. NumPyro's
model is written as its documentation writes Dawid and Skene's: the true class is a discrete site, enumerated out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

CHAINS, TARGET_ACCEPT = 2, 0.9


def run_bayesanno(source: str, draws: int, seed: int) -> dict[str, Any]:
    """Fit with bayesanno's own sampler (nutpie)."""
    begin = time.perf_counter()
    import nutpie  # noqa: F401 -- imported here so that its import is not counted as compiling
    import pymc  # noqa: F401

    import bayesanno as ba

    data = ba.read_annotations(source)
    settings = {"draws": draws, "tune": draws, "chains": CHAINS, "target_accept": TARGET_ACCEPT}
    imported = time.perf_counter()
    fit = ba.fit("model_b", data, **settings, initvals="vote", random_seed=seed, progressbar=False)
    posterior = fit["posterior"].to_dataset()
    means = {"prevalence": posterior["prevalence"].mean(("chain", "draw")).values.tolist()}
    return summary(posterior, imported - begin, fit.attrs["seconds_compile"], fit.attrs["seconds_sample"]) | means


def run_numpyro(source: str, draws: int, seed: int) -> dict[str, Any]:
    """Fit NumPyro's enumerated model; what JAX says it spent on tracing and compiling is counted apart."""
    begin = time.perf_counter()
    import numpyro

    numpyro.set_host_device_count(CHAINS)  # before JAX starts
    import jax
    import numpy as np
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS, init_to_value

    import bayesanno as ba
    from bayesanno.ground.lazy import xr

    jax.config.update("jax_enable_x64", True)
    data = ba.read_annotations(source)
    prior = ba.get_model("model_b")
    n_classes = data.n_labels
    rows = np.full((n_classes, n_classes), prior.confusion_strength * (1 - prior.confusion_accuracy) / (n_classes - 1))
    np.fill_diagonal(rows, prior.confusion_strength * prior.confusion_accuracy)
    order = np.argsort(data.item, kind="stable")
    counts = np.bincount(data.item, minlength=data.n_items)
    if not (counts == counts[0]).all():
        raise SystemExit("NumPyro's enumerated model needs as many annotations of every item: choose another data set")
    annotator = data.annotator[order].reshape(data.n_items, counts[0]).T  # (position, item)
    said = data.label[order].reshape(data.n_items, counts[0]).T  # (position, item)

    def model() -> None:
        prevalence = numpyro.sample("prevalence", dist.Dirichlet(np.full(n_classes, prior.prevalence_prior)))
        with numpyro.plate("annotator", data.n_annotators, dim=-2), numpyro.plate("class", n_classes):
            confusion = numpyro.sample("confusion", dist.Dirichlet(rows))
        with numpyro.plate("item", data.n_items, dim=-1):
            truth = numpyro.sample("truth", dist.Categorical(prevalence), infer={"enumerate": "parallel"})
            with numpyro.plate("position", counts[0], dim=-2):
                numpyro.sample("said", dist.Categorical(confusion[annotator, truth]), obs=said)

    imported = time.perf_counter()
    start = {name: jax.numpy.asarray(value) for name, value in prior.start(data).items()}
    kernel = NUTS(model, target_accept_prob=TARGET_ACCEPT, init_strategy=init_to_value(values=start))
    mcmc = MCMC(kernel, num_warmup=draws, num_samples=draws, num_chains=CHAINS, progress_bar=False)
    compiling: list[float] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiling.append(seconds) if event.startswith("/jax/core/compile/") else None
    )
    mcmc.run(jax.random.PRNGKey(seed))
    jax.block_until_ready(mcmc.get_samples())
    ran, compiled = time.perf_counter() - imported, sum(compiling)
    samples = mcmc.get_samples(group_by_chain=True)
    posterior = xr.Dataset(
        {
            name: (("chain", "draw", *(f"{name}_{axis}" for axis in range(value.ndim - 2))), np.asarray(value))
            for name, value in samples.items()
            if name != "truth"
        }
    )
    means = {"prevalence": np.asarray(samples["prevalence"]).mean((0, 1)).tolist()}
    return summary(posterior, imported - begin, compiled, ran - compiled) | means


def summary(posterior: Any, seconds_import: float, seconds_compile: float, seconds_sample: float) -> dict[str, Any]:
    """Return the times and the worst ESS and R-hat."""
    import arviz_stats as azs

    ess = float(min(v.min() for v in azs.ess(posterior).values()))
    rhat = float(max(v.max() for v in azs.rhat(posterior).values()))
    return {
        "seconds_import": seconds_import,
        "seconds_compile": seconds_compile,
        "seconds_sample": seconds_sample,
        "min_ess_bulk": ess,
        "max_rhat": rhat,
        "ess_per_second": ess / seconds_sample,
    }


RUNS = {"bayesanno": run_bayesanno, "numpyro": run_numpyro}


def main() -> None:
    """Run each library in a process of its own, one after the other, and print their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default="@rte", help="annotations, as many of every item")
    parser.add_argument("--draws", type=int, default=500, help="draws, and tuning steps, per chain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(RUNS[options.only](options.source, options.draws, options.seed)))
        return
    found = {}
    for name in RUNS:
        command = [sys.executable, __file__, options.source, "--draws", str(options.draws), "--seed", str(options.seed)]
        finished = subprocess.run([*command, "--only", name], check=True, capture_output=True, text=True)
        found[name] = json.loads(finished.stdout.splitlines()[-1])
        print(
            f"{name:10s}",
            {key: value if isinstance(value, list) else round(value, 3) for key, value in found[name].items()},
        )
    ratio = found["bayesanno"]["ess_per_second"] / found["numpyro"]["ess_per_second"]
    print(f"min bulk ESS per second of sampling: bayesanno / numpyro = {ratio:.1f}")


if __name__ == "__main__":
    main()
