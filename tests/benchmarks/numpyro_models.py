"""Models that NumPyro's examples have too, on one data set: bayesanno against NumPyro, side by side in one run.

    uv run --group benchmarks python tests/benchmarks/numpyro_models.py @rte --model model_b

Both sample the same posterior: same priors, same data, same chains, draws and target acceptance rate. So their means
must agree: of every parameter both have, the difference is shown in Monte Carlo standard errors. What is compared is
the smallest bulk ESS over these parameters per second of sampling; importing and compiling are shown apart. NumPyro's
models are written as its documentation writes them: what is discrete is a site of its own, enumerated out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

CHAINS, TARGET_ACCEPT = 2, 0.9
FIELDS: dict[str, dict[str, Any]] = {"mace": {"class_prior": "uniform"}}


def run_bayesanno(name: str, source: str, draws: int, seed: int) -> dict[str, Any]:
    """Fit with bayesanno's own sampler (nutpie)."""
    begin = time.perf_counter()
    import nutpie  # noqa: F401 -- imported here so that its import is not counted as compiling
    import pymc  # noqa: F401

    import bayesanno as ba

    data = ba.read_annotations(source)
    model = ba.get_model(name, FIELDS.get(name))
    settings = {"draws": draws, "tune": draws, "chains": CHAINS, "target_accept": TARGET_ACCEPT}
    imported = time.perf_counter()
    fit = ba.fit(model, data, **settings, initvals="vote", random_seed=seed, progressbar=False)
    posterior = fit["posterior"].to_dataset()
    return summary(posterior, imported - begin, fit.attrs["seconds_compile"], fit.attrs["seconds_sample"])


def run_numpyro(name: str, source: str, draws: int, seed: int) -> dict[str, Any]:
    """Fit NumPyro's enumerated model; what JAX says it spent on tracing and compiling is counted apart."""
    begin = time.perf_counter()
    import bayesanno as ba

    data = ba.read_annotations(source)
    mcmc, arguments, compiling = prepare_numpyro(name, data, draws, TARGET_ACCEPT)
    import jax
    import numpy as np

    from bayesanno._core.lazy import xr

    imported = time.perf_counter()
    mcmc.run(jax.random.PRNGKey(seed), *arguments)
    both = {variable.name for variable in arguments[0].build(data).free_RVs}
    samples = {name: value for name, value in mcmc.get_samples(group_by_chain=True).items() if name in both}
    jax.block_until_ready(samples)
    ran, compiled = time.perf_counter() - imported, sum(compiling)
    posterior = xr.Dataset(
        {
            name: (("chain", "draw", *(f"{name}_{axis}" for axis in range(value.ndim - 2))), np.asarray(value))
            for name, value in samples.items()
        }
    )
    return summary(posterior, imported - begin, compiled, ran - compiled)


def prepare_numpyro(name: str, data: Any, draws: int, target_accept: float) -> tuple[Any, tuple[Any, ...], list[float]]:
    """Return NumPyro's MCMC, the arguments of its story, and the seconds of compiling, to which JAX will add."""
    import numpyro

    numpyro.set_host_device_count(CHAINS)  # before JAX starts
    import jax
    import numpy as np
    from numpyro.infer import MCMC, NUTS, init_to_value

    import bayesanno as ba

    jax.config.update("jax_enable_x64", True)
    prior = ba.get_model(name, FIELDS.get(name))
    order = np.argsort(data.item, kind="stable")
    counts = np.bincount(data.item, minlength=data.n_items)
    if not (counts == counts[0]).all():
        raise SystemExit("NumPyro's enumerated model needs as many annotations of every item")
    annotator = data.annotator[order].reshape(data.n_items, counts[0]).T  # (position, item)
    said = data.label[order].reshape(data.n_items, counts[0]).T  # (position, item)
    start = {name: jax.numpy.asarray(value) for name, value in prior.start(data).items()}
    kernel = NUTS(STORIES[name], target_accept_prob=target_accept, init_strategy=init_to_value(values=start))
    mcmc = MCMC(kernel, num_warmup=draws, num_samples=draws, num_chains=CHAINS, progress_bar=False)
    compiling: list[float] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiling.append(seconds) if event.startswith("/jax/core/compile/") else None
    )
    return mcmc, (prior, annotator, said, data.n_annotators, data.n_labels), compiling


# -------------------------------------------------------------------------- the stories, as NumPyro's documentation has


def tell_dawid_skene(prior: Any, annotator: Any, said: Any, n_annotators: int, n_classes: int) -> None:
    """One confusion matrix per annotator."""
    import numpyro
    import numpyro.distributions as dist

    prevalence = numpyro.sample("prevalence", dist.Dirichlet(_full(n_classes, prior.prevalence_prior)))
    with numpyro.plate("annotator", n_annotators, dim=-2), numpyro.plate("class", n_classes):
        confusion = numpyro.sample("confusion", dist.Dirichlet(_rows(prior, n_classes)))
    with numpyro.plate("item", said.shape[1], dim=-1):
        truth = numpyro.sample("truth", dist.Categorical(prevalence), infer={"enumerate": "parallel"})
        with numpyro.plate("position", said.shape[0], dim=-2):
            numpyro.sample("said", dist.Categorical(confusion[annotator, truth]), obs=said)


def tell_mace(prior: Any, annotator: Any, said: Any, n_annotators: int, n_classes: int) -> None:
    """Annotators know or spam; classes are equally likely."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    with numpyro.plate("annotator", n_annotators):
        strategy = numpyro.sample("strategy", dist.Dirichlet(_full(n_classes, prior.strategy_prior)))
        competence = numpyro.sample("competence", dist.Beta(*prior.competence_prior))
    with numpyro.plate("item", said.shape[1], dim=-1):
        even = dist.Categorical(_full(n_classes, 1 / n_classes))
        truth = numpyro.sample("truth", even, infer={"enumerate": "parallel"})
        with numpyro.plate("position", said.shape[0], dim=-2):
            spams = numpyro.sample("spams", dist.Bernoulli(1 - competence[annotator]), infer={"enumerate": "parallel"})
            known = jnp.eye(n_classes)[truth]
            shares = jnp.where(spams[..., None] == 0, known, strategy[annotator])
            numpyro.sample("said", dist.Categorical(probs=shares), obs=said)


def _full(n: int, value: float) -> Any:
    import numpy as np

    return np.full(n, value)


def _rows(prior: Any, n_classes: int) -> Any:
    import numpy as np

    wrong = prior.confusion_strength * (1 - prior.confusion_accuracy) / (n_classes - 1)
    right = prior.confusion_strength * prior.confusion_accuracy
    return np.where(np.eye(n_classes, dtype=bool), right, wrong)


STORIES = {"model_b": tell_dawid_skene, "mace": tell_mace}


# --------------------------------------------------------------------------------------------------------- comparing


def summary(posterior: Any, seconds_import: float, seconds_compile: float, seconds_sample: float) -> dict[str, Any]:
    """Return the times, the worst ESS and R-hat, and each parameter's mean with its MCSE."""
    import arviz_stats as azs

    ess = float(min(v.min() for v in azs.ess(posterior).values()))
    mcse = azs.mcse(posterior)
    return {
        "seconds_import": seconds_import,
        "seconds_compile": seconds_compile,
        "seconds_sample": seconds_sample,
        "min_ess_bulk": ess,
        "max_rhat": float(max(v.max() for v in azs.rhat(posterior).values())),
        "ess_per_second": ess / seconds_sample,
        "means": {
            name: [values.mean(("chain", "draw")).values.ravel().tolist(), mcse[name].values.ravel().tolist()]
            for name, values in posterior.items()
        },
    }


def compare_means(one: dict[str, Any], other: dict[str, Any]) -> tuple[int, float, float]:
    """Return of all parameters of both how many there are, and the differences of their means in standard errors.

    As the largest one, and as their root mean square, which is near 1 where all that differs is chance.
    """
    import numpy as np

    apart = []
    for name in one["means"].keys() & other["means"].keys():
        (mean, error), (mean_too, error_too) = (np.array(each["means"][name]) for each in (one, other))
        apart.append((mean - mean_too) / np.hypot(error, error_too))
    z = np.concatenate(apart)
    return z.size, float(np.abs(z).max()), float(np.sqrt(np.mean(z**2)))


RUNS = {"bayesanno": run_bayesanno, "numpyro": run_numpyro}


def main() -> None:
    """Run each library in a process of its own, one after the other; print how they agree and the ratio of speeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default="@rte", help="annotations, as many of every item")
    parser.add_argument("--model", choices=STORIES, default="model_b")
    parser.add_argument("--draws", type=int, default=500, help="draws, and tuning steps, per chain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(RUNS[options.only](options.model, options.source, options.draws, options.seed)))
        return
    found = {}
    for name in RUNS:
        command = [sys.executable, __file__, options.source, "--model", options.model, "--draws", str(options.draws)]
        command += ["--seed", str(options.seed), "--only", name]
        finished = subprocess.run(command, check=True, capture_output=True, text=True)
        found[name] = json.loads(finished.stdout.splitlines()[-1])
        print(f"{name:10s}", {key: round(value, 3) for key, value in found[name].items() if key != "means"})
    n, largest, typical = compare_means(found["bayesanno"], found["numpyro"])
    print(f"means of {n} parameters: {largest:.1f} standard errors apart at most, {typical:.2f} typically (RMS)")
    ratio = found["bayesanno"]["ess_per_second"] / found["numpyro"]["ess_per_second"]
    print(f"min bulk ESS per second of sampling: bayesanno / numpyro = {ratio:.1f}")


if __name__ == "__main__":
    main()
