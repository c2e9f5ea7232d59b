"""How long compiling takes, and how long a gradient: this checkout, and perhaps another one, in turn in one run.

    uv run python tests/benchmarks/compiling.py --beside ../old-checkout

The first table has CPU seconds, of children too: of importing and reading `@crowd`, of fits of it by NUTS in one
process (each model, then the same again), of a model of one's own before and after a change of its prior, and of a
command. "cold" is with an empty folder of PyTensor's, "warm" is the same once more in a new process. The second table
has microseconds of a gradient, the least of several rounds, with the call from Python.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("mace", "model_b", "one_coin", "class_conditional", "hierarchical_dawid_skene", "item_difficulty")
TABLES = ("@crowd", "@judges", "@rte", "million", "sixty labels")
OWN = """
import pymc as pm
import bayesanno as ba
from bayesanno.models.mace import MACE

class Own(MACE):
    name = "own"
    def priors(self, data, prior):
        super().priors(data, prior)
        {change}
"""


def cpu() -> float:
    """CPU seconds of this process and its children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def fit_models(models: list[str]) -> dict[str, float]:
    """Fit each model, and then each again."""
    import bayesanno as ba

    data, found = ba.read_annotations("@crowd"), {}
    found["import and read"] = cpu()
    for name in models:
        for which in ("first", "again"):
            begin = cpu()
            ba.fit(name, data, random_seed=1, progressbar=False)
            found[f"{name}, {which}"] = cpu() - begin
    return found


def fit_own(change: str) -> dict[str, float]:
    """Fit a model of one's own."""
    begin, names = cpu(), {}
    exec(OWN.format(change=change), names)
    names["ba"].fit(names["Own"](), names["ba"].read_annotations("@crowd"), random_seed=1, progressbar=False)
    return {"a model of one's own": cpu() - begin}


def make_table(name: str) -> Any:
    """Read a table, or make one."""
    import numpy as np
    import pandas as pd

    import bayesanno as ba

    if name.startswith("@"):
        return ba.read_annotations(name)
    rng = np.random.default_rng(1)
    n_items, n_annotators, n_labels = (250_000, 500, 5) if name == "million" else (2_000, 20, 60)
    item, truth = np.repeat(np.arange(n_items), 4), np.repeat(rng.integers(0, n_labels, n_items), 4)
    label = np.where(rng.random(item.size) < 0.75, truth, rng.integers(0, n_labels, item.size))
    columns = {"item": item, "annotator": rng.integers(0, n_annotators, item.size), "label": label}
    return ba.AnnotationData.from_records(pd.DataFrame(columns).astype(str).to_numpy())


def time_gradients(table: str, models: list[str]) -> dict[str, float]:
    """Return the microseconds of a gradient."""
    import bayesanno as ba
    from bayesanno.graph.density import compile_graph

    data, found = make_table(table), {}
    for name in models:
        model = ba.get_model(name)
        density = compile_graph(model.build(data), model.start(data))
        density(density.start)
        begin = time.perf_counter()
        density(density.start)
        n, best = max(1, int(0.05 / (time.perf_counter() - begin))), float("inf")
        for _ in range(9):
            begin = time.perf_counter()
            for _ in range(n):
                density(density.start)
            best = min(best, (time.perf_counter() - begin) / n)
        found[f"{name}, {table}"] = 1e6 * best
    return found


def run(checkout: Path, folder: str, *task: str) -> dict[str, float]:
    """Run a task in a process of its own, with the package of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTENSOR_FLAGS": f"base_compiledir={folder}"}
    begin = cpu()
    if task[0] == "command":
        command = [sys.executable, "-m", "bayesanno", "fit", "mace", "@crowd", "--seed", "1", "--out", f"{folder}/out"]
        subprocess.run([*command, "--overwrite"], env=environment, check=True, capture_output=True, cwd=folder)
        return {"bayesanno fit mace @crowd": cpu() - begin}
    command = [sys.executable, "-W", "ignore", __file__, "--task", *task]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=folder)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=3, help="of gradients")
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        what, *arguments = options.task
        task = {"fit": lambda: fit_models(arguments), "own": lambda: fit_own(*arguments)}
        found = task[what]() if what in task else time_gradients(arguments[0], arguments[1:])
        print(json.dumps(found))
        return
    checkouts = [ROOT, *([options.beside.resolve()] if options.beside else [])]
    tasks = [
        ("fit", *MODELS),
        ("own", "pass"),
        ("own", "pm.Potential('more', -pm.modelcontext(None)['competence'].sum())"),
        ("command",),
    ]
    columns = [(checkout, how) for checkout in checkouts for how in ("cold", "warm")]
    print(f"| CPU seconds | {' | '.join(f'{checkout.name}, {how}' for checkout, how in columns)} |")
    print(f"|{'---|' * (1 + len(columns))}")
    for task in tasks:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            folders = dict(zip(checkouts, (one, other), strict=False))
            if task[0] == "own" and task[1] != "pass":  # it is changed when the rest is there
                for checkout in checkouts:
                    run(checkout, folders[checkout], "own", "pass")
            found = [run(checkout, folders[checkout], *task) for checkout, _ in columns]
        for name in found[0]:
            changed = ", changed" if task[0] == "own" and task[1] != "pass" else ""
            print(f"| {name}{changed} | {' | '.join(f'{each[name]:.1f}' for each in found)} |", flush=True)
    print(f"\n| microseconds | {' | '.join(checkout.name for checkout in checkouts)} |")
    print(f"|{'---|' * (1 + len(checkouts))}")
    with tempfile.TemporaryDirectory() as folder:
        for table in TABLES:
            task = ("time", table, *MODELS[:-1])
            rounds = [[run(one, folder, *task) for one in checkouts] for _ in range(options.rounds)]
            for name in rounds[0][0]:
                least = [min(of[at][name] for of in rounds) for at in range(len(checkouts))]
                print(f"| {name} | {' | '.join(f'{each:,.0f}' for each in least)} |", flush=True)


if __name__ == "__main__":
    main()
