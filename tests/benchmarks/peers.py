"""Seconds to labels, accuracy and log score: bayesanno beside its peers on the same tables, in one run, as Markdown.

    uv run --group benchmarks python tests/benchmarks/peers.py @crowd @rte

Each tool runs in a process of its own, one after the other; each model with NUTS in one of its own, too. "import" is
the CPU time of importing, and of reading the table, in that process. "s" and "CPU s" are from there to a probability
of each class for every item, by a second call of what compiles nothing, so that what is imported late does not count.
Nothing that bayesanno compiles is kept on disk: "first" is a first fit by NUTS, which also compiles the model; the
other columns are the same fit once more. "compiling" is a part of "s". The log score is the mean log probability of the
true class: a probability below 1e-10 counts as 1e-10, and "below" is the number of items with one.

bayesanno and crowd-kit have their defaults, but MACE has equally likely classes everywhere, and NUTS two chains of 500
draws after as many of tuning. NumPyro's models are those of numpyro_models.py, for tables with as many answers of every
item; its labels are draws of the true class (infer_discrete). MACE's own Python, the file mace.py of
github.com/dirkhovy/MACE, is on no package index: --mace has its place. It takes one answer per annotator and item: the
first. rater needs R with the package; its time includes starting R and loading the package.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FLOOR, DRAWS, CHAINS, LATE = 1e-10, 500, 2, 10.0  # chains as in numpyro_models.py
FORMS = {"import, CPU s": ".1f", "first, s": ".1f", "first, CPU s": ".1f", "s": ".2f", "CPU s": ".2f"}
FORMS |= {"compiling, s": ".2f", "accuracy": ".3f", "log score": ".3f", "below": ".0f"}
MODELS = ("mace", "model_b", "one_coin")
RATER = f"""
library(rater)
file <- commandArgs(trailingOnly = TRUE)
fit <- rater(read.csv(file[1]), "dawid_skene", chains = {CHAINS}, iter = {2 * DRAWS}, seed = 1, refresh = 0)
write.csv(class_probabilities(fit), file[2], row.names = FALSE)
"""
Labels = tuple[pd.DataFrame, float]  # probabilities (item, class), and the seconds of compiling
Rows = Iterator[tuple[str, Callable[[], Labels]]]  # what is timed, by name


def ask_bayesanno(data: Any, method: str, *names: str) -> Rows:
    """Fit some models by one method; for NUTS, a fit by EM first loads what is loaded late."""
    import bayesanno as ba

    def fit(name: str, method: str, **settings: Any) -> Labels:
        model = ba.models.MACE(class_prior="uniform") if name == "mace" else name
        found = ba.fit(model, data, method=method, random_seed=1, progressbar=False, **settings)
        table = ba.label_table(found).set_index("item")[[f"p[{label}]" for label in data.classes]]
        return table.set_axis(list(data.classes), axis=1), float(found.attrs["seconds_compile"])

    settings = {"draws": DRAWS, "tune": DRAWS, "chains": CHAINS} if method == "nuts" else {}
    if method == "nuts":
        import nutpie  # noqa: F401 -- else its import would count as compiling
        import pymc  # noqa: F401

        fit(names[0], "em")
    for name in names:
        yield f"bayesanno {name}, {method}", lambda name=name: fit(name, method, **settings)


def ask_numpyro(data: Any, name: str) -> Rows:
    """Sample a model by hand."""
    import numpyro_models

    mcmc, arguments, compiling = numpyro_models.prepare_numpyro(name, data, DRAWS, target_accept=0.8)
    import jax
    from numpyro.infer import Predictive

    def call() -> Labels:
        mcmc.run(jax.random.PRNGKey(1), *arguments)
        predict = Predictive(numpyro_models.STORIES[name], mcmc.get_samples(), infer_discrete=True)
        truth = np.asarray(predict(jax.random.PRNGKey(2), *arguments)["truth"]).reshape(-1, data.n_items)
        shares = (truth[..., None] == np.arange(data.n_labels)).mean(axis=0)
        return pd.DataFrame(shares, index=list(data.items), columns=list(data.labels)), sum(compiling)

    yield f"NumPyro {name}, nuts", call


def ask_crowdkit(data: Any) -> Rows:
    """Aggregate by crowd-kit's classes."""
    from crowdkit import aggregation

    table = data.to_frame().rename(columns={"item": "task", "annotator": "worker"})[["task", "worker", "label"]]
    for name in ("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "MACE"):
        settings = {"random_state": 1} if name == "MACE" else {}
        aggregate = getattr(aggregation, name)(**settings)
        yield f"crowd-kit {name}", lambda aggregate=aggregate: (aggregate.fit(table).probas_, 0.0)


def ask_mace(data: Any, file: str) -> Rows:
    """Run the class of mace.py with the defaults of its command."""
    if not file:
        raise SystemExit("needs --mace FILE")
    spec = importlib.util.spec_from_file_location("mace", file)
    module: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    table = data.to_frame().drop_duplicates(["item", "annotator"]).pivot(index="item", columns="annotator")["label"]
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as wide:
        table.to_csv(wide.name, header=False, index=False)
        mace = module.MACE(wide.name)

    def call() -> Labels:
        np.random.seed(1)  # noqa: NPY002 -- the generator that it uses
        mace.run(50, 0.01 / mace.num_labels, 10, 0.5, 0.5, False, None)
        found = mace.gold_label_marginals / mace.gold_label_marginals.sum(axis=1, keepdims=True)
        return pd.DataFrame(found, index=table.index, columns=mace.int2string), 0.0

    yield "mace.py", call


def ask_rater(data: Any) -> Rows:
    """Sample model B by rater, in R."""
    installed = "quit(status = !requireNamespace('rater', quietly = TRUE))"
    if not shutil.which("Rscript") or subprocess.run(["Rscript", "-e", installed], check=False).returncode:
        raise SystemExit("needs R with the package rater")
    numbers = {"item": data.item + 1, "rater": data.annotator + 1, "rating": data.label + 1}

    def call() -> Labels:
        with tempfile.TemporaryDirectory() as folder:
            files = [f"{folder}/answers.csv", f"{folder}/found.csv"]
            pd.DataFrame(numbers).to_csv(files[0], index=False)
            subprocess.run(["Rscript", "-e", RATER, *files], check=True, capture_output=True)
            return pd.read_csv(files[1]).set_axis(list(data.labels), axis=1).set_axis(list(data.items)), 0.0

    yield "rater dawid_skene, nuts", call


PROCESSES: dict[str, tuple[Callable[..., Rows], tuple[str, ...]]] = {
    "bayesanno em": (ask_bayesanno, ("em", *MODELS)),
    "bayesanno vb": (ask_bayesanno, ("vb", *MODELS)),
    **{f"bayesanno nuts {name}": (ask_bayesanno, ("nuts", name)) for name in MODELS},
    **{f"NumPyro {name}": (ask_numpyro, (name,)) for name in MODELS[:2]},
    "crowd-kit": (ask_crowdkit, ()),
    "mace.py": (ask_mace, ()),
    "rater": (ask_rater, ()),
}


def run_process(name: str, source: str, mace: str) -> None:
    """Print each row of this process as a line of JSON."""
    import bayesanno as ba

    data = ba.read_annotations(source)
    function, arguments = PROCESSES[name]
    rows = function(data, *([mace] if function is ask_mace else arguments))
    imported = 0.0
    for row, call in rows:
        before = seconds()[1]
        times, (found, compiling) = timed(call)
        first = {f"first, {of}": each for of, each in times.items()} if " nuts " in name else {}
        late = times["CPU s"]
        if first or (late < LATE and not compiling):
            times, (found, compiling) = timed(call)
        known = times | score(found, data.gold) | ({"compiling, s": compiling} if compiling else {}) | first
        if not imported:
            imported = known["import, CPU s"] = before + (0 if first else late - times["CPU s"])
        print(json.dumps({"row": row, **known}), flush=True)


def seconds() -> tuple[float, float]:
    """Return the time, and the CPU seconds of this process and its children so far."""
    return time.perf_counter(), sum(os.times()[:4])


def timed(call: Callable[[], Labels]) -> tuple[dict[str, float], Labels]:
    """Call, and return also what it took."""
    begin, found, end = seconds(), call(), seconds()
    return {"s": end[0] - begin[0], "CPU s": end[1] - begin[1]}, found


def score(found: pd.DataFrame, gold: Any) -> dict[str, float]:
    """Compare probabilities with gold; items and classes that are absent have probability 0."""
    true = pd.Series(dict(gold), dtype="str")
    found = found.set_axis(found.index.astype("str")).set_axis(found.columns.astype("str"), axis=1)
    table = found.reindex(index=true.index, columns=found.columns.union(true.unique())).fillna(0.0)
    given = table.to_numpy()[np.arange(true.size), table.columns.get_indexer(true)]
    right, log_score = (table.idxmax(axis=1) == true).mean(), np.log(np.maximum(given, FLOOR)).mean()
    return {"accuracy": float(right), "log score": float(log_score), "below": int((given < FLOOR).sum())}


def run_apart(name: str, source: str, options: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    """Run one process, and return its rows and what went wrong, if anything."""
    command = [sys.executable, "-W", "ignore", __file__, source, "--process", name, "--mace", options.mace]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.longest)
        printed, wrong = done.stdout, done.stderr.strip().splitlines()[-1] if done.returncode else ""
    except subprocess.TimeoutExpired as late:
        printed, wrong = (late.stdout or b"").decode(), f"more than {options.longest:.0f} s"
    return [json.loads(line) for line in printed.splitlines()], wrong


def main() -> None:
    """Print the date, the machine and versions, and a table for each data set."""
    import bayesanno as ba

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", default=["@crowd"], help="tables of annotations with gold")
    parser.add_argument("--mace", default="", metavar="FILE", help="MACE's own Python, the file mace.py")
    parser.add_argument("--longest", type=float, default=200, help="seconds, after which a process is ended")
    parser.add_argument("--process", choices=PROCESSES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.process:
        run_process(options.process, options.sources[0], options.mace)
        return
    processor = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    versions = [f"{name} {version(name)}" for name in ("bayesanno", "numpyro", "jax", "crowd-kit")]
    print(f"{date.today()}, {os.cpu_count()} cores{processor.split(':')[1]}, {', '.join(versions)}")
    for source in options.sources:
        print(f"\n{source}: {ba.read_annotations(source).describe()}\n")
        print(f"| | {' | '.join(FORMS)} |\n|{'---|' * (1 + len(FORMS))}")
        missing = []
        for name in PROCESSES:
            rows, wrong = run_apart(name, source, options)
            for row in rows:
                cells = [f"{row[key]:{form}}" if key in row else "" for key, form in FORMS.items()]
                print(f"| {row['row']} | {' | '.join(cells)} |", flush=True)
            if wrong:
                missing.append(f"- {name}: {wrong}")
        print("", *missing, sep="\n")


if __name__ == "__main__":
    main()
