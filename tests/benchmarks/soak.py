"""What a process keeps: resident memory after each of many small fits, tables, plots and reports, by kind of work.

    uv run python tests/benchmarks/soak.py --rounds 10
    uv run python tests/benchmarks/soak.py --only "nuts mace" --rounds 60

A round does each kind of work once, on simulated data that are new, and of other sizes, in every round. Printed after
each round: the memory of the process, and of the kinds of work after which it grew most, by how many MiB it did in the
first round, in which graphs are compiled, in the second, and on average in each one later. What is freed is handed back
to the system before memory is read, so that growth is what is kept.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesanno as ba
from bayesanno._core.errors import BayesannoError

LABELS = ("maybe", "no", "yes")
FEW = {"draws": 50, "tune": 100, "chains": 2}
BY = {"nuts": FEW, "advi": {"draws": 50, "chains": 2, "method_options": {"steps": 500}}, "em": {}, "vb": FEW}
BY["fullrank_advi"] = BY["advi"]
PLOTS = ["annotators", "confusion", "dependence", "coverage", "plates", "calibration"]


def make_data(model: str, rng: np.random.Generator) -> Any:
    """Return data that the model takes, of a size of their own, with the true label of a third of the items."""
    kind = ba.get_model(model).data_class.__name__
    labels = LABELS[1:] if model == "diligent_lazy_annotators" else LABELS
    items, people = int(rng.integers(40, 60)), int(rng.integers(5, 9))
    if kind == "CountData":
        tried = np.full(items, rng.integers(6, 12))
        right = rng.binomial(tried, np.where(rng.random(items) < 0.4, 0.8, 0.2))
        return ba.CountData(items=tuple(f"i{one}" for one in range(items)), successes=right, trials=tried)
    truth = rng.integers(len(labels), size=items)
    said = np.where(rng.random((items, people)) < 0.75, truth[:, None], rng.integers(len(labels), size=(items, people)))
    names = [(f"i{i}", f"a{j}") for i in range(items) for j in range(people)]
    records = [(*who, labels[code]) for who, code in zip(names, said.ravel().tolist(), strict=True)]
    records = [record for record, kept in zip(records, rng.random(len(records)) < 0.9, strict=True) if kept]
    gold = {f"i{i}": labels[truth[i]] for i in range(0, items, 3)}
    if kind == "AnnotationData":
        return ba.AnnotationData.from_records(records, labels=labels, gold=gold)
    frame = pd.DataFrame(records, columns=["item", "annotator", "first"])
    frame["second"] = rng.permutation(frame["first"].to_numpy())
    return ba.read_multi_annotations(frame, ["first", "second"], labels={"first": LABELS, "second": LABELS})


def fit(model: str, method: str, data: Any, seed: int) -> Any:
    """Fit by few draws."""
    return ba.fit(model, data, method=method, random_seed=seed, progressbar=False, **BY[method])


def methods_of(model: str) -> list[str]:
    """Return the methods that a model has."""
    try:
        fit(model, "em", make_data(model, np.random.default_rng(1)), 1)
    except BayesannoError:
        return ["nuts", "advi", "fullrank_advi"]
    return [*BY]


def work_on(fits: dict[str, Any], folder: Path, seed: int) -> dict[str, Callable[[], Any]]:
    """Return what is done with fits, by its name."""
    one, data = fits["model_b"], ba.data_of(fits["model_b"])
    seeded = {"random_seed": seed}
    half = data.items[: data.n_items // 2]
    few = {"method": "em", "progressbar": False}
    work: dict[str, Callable[[], Any]] = {
        "tables": lambda: [
            ba.label_table(one), ba.annotator_table(one), ba.summary(one), ba.coverage_table(one),
            ba.confusion_table(one), ba.dependence_table(one), ba.decide_labels(one, "absolute"),
        ],
        "agreement": lambda: [
            ba.agreement_table(data, resamples=100, random_seed=seed), ba.pair_table(data), ba.usage_table(data),
            ba.agreement.outlier_table(data),
        ],
        "figures of data": lambda: [
            draw(folder, ba.report.plot_distances(data)), draw(folder, ba.report.plot_divergence(data)),
            draw(folder, ba.plot_usage(data)),
        ],
        "save and load": lambda: ba.load(ba.save(one, folder / "fit.nc", overwrite=True) or folder / "fit.nc"),
        "write and read": lambda: ba.read_annotations(data.to_frame()),
        "export": lambda: ba.export_labels(
            one, folder / "labels.jsonl", to="doccano", tasks=[{"item": item, "text": item} for item in data.items]
        ),
        "predict_labels": lambda: ba.predict_labels(one, data, **seeded),
        "recalibrate": lambda: ba.label_table(ba.recalibrate(one)),
        "group_table": lambda: ba.group_table(one, {item: "12"[item in half] for item in data.items}, **seeded),
        "compare": lambda: ba.compare(fits, **seeded),
        "predictive_check": lambda: ba.predictive_check(one, replicates=50, **seeded),
        "describe_prior": lambda: ba.describe_prior("mace", data, draws=50, **seeded),
        "power_scaling": lambda: [ba.power_scaling_table(one), ba.criticism.label_power_scaling(one)],
        "sensitivity": lambda: ba.sensitivity("model_b", data, {"prevalence_prior": [1, 9]}, **few, **seeded),
        "sensitivity nuts": lambda: ba.sensitivity(
            "mace", data, {"prevalence_prior": [1, 9]}, progressbar=False, **FEW, **seeded
        ),
        "sbc": lambda: ba.sbc("mace", data, simulations=3, progressbar=False, **FEW, **seeded),
        "simulate": lambda: ba.simulate("item_difficulty", data, **seeded),
        "suggest": lambda: [
            ba.suggest_annotations(one, 5, target=to, **seeded) for to in ("annotators", "gold")
        ],
        "progress": lambda: [
            draw(folder, ba.plot_progress(ba.expected_progress(one, futures=5, **seeded))),
            ba.expected_progress(one, of="items", futures=5, **seeded)],
        "find_modes": lambda: ba.find_modes("model_b", data, starts=5, progressbar=False, **seeded),
        "report": lambda: ba.write_report(one, folder / "a.html", checks=False, **seeded),
        "report with checks": lambda: ba.write_report(one, folder / "a.html", **seeded),
    }  # fmt: skip
    return work | {f"figure of {name}": lambda name=name: draw(folder, plot(name, one)) for name in PLOTS}


def plot(name: str, fit: Any) -> Any:
    """Return a figure of a fit, or of its model."""
    if name == "plates":
        return ba.plot_plates("model_b", ba.data_of(fit))
    few = {"least_items": 5} if name == "dependence" else {}
    return getattr(ba, f"plot_{name}")(fit, **few)


def draw(folder: Path, figure: Any) -> None:
    """Write a figure, and forget it."""
    figure.savefig(folder / "figure.png")


def do_all(methods: dict[str, list[str]], asked: Callable[[str], bool], seed: int, folder: Path) -> Iterator[str]:
    """Do each kind of work that is asked for once, and yield its name after it."""
    rng = np.random.default_rng(seed)
    for model, known in methods.items():
        data = make_data(model, rng)
        for name in [f"{method} {model}" for method in known]:
            if asked(name):
                fit(model, name.split()[0], data, seed)
                yield name
    data = make_data("model_b", rng)
    fits = {model: fit(model, "nuts", data, seed) for model in ("model_b", "mace")}
    yield "fits for what follows"
    for name, do in work_on(fits, folder, seed).items():
        if asked(name):
            do()
            yield name


def memory() -> float:
    """Return the resident memory of this process in MiB."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # of glibc
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    """Print what each kind of work keeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[], help="kinds of work whose names begin so")
    parser.add_argument("--most", type=int, default=20, help="kinds of work that are printed, those that grew most")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of so few draws
    methods = {name: methods_of(name) for name in ba.list_models()["name"]}
    wanted = tuple(asked.only) or ("",)
    now = memory()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(1, asked.rounds + 1):
            before, began = now, time.perf_counter()
            for name in do_all(methods, lambda name: name.startswith(wanted), turn, Path(folder)):
                last, now = now, memory()
                rows.append({"work": name, "round": turn, "grew": now - last})
            seconds = time.perf_counter() - began
            print(f"round {turn}: {now:.0f} MiB, {now - before:+.1f}, in {seconds:.0f} s", flush=True)
            if turn > 1:
                print(tabulate(pd.DataFrame(rows)).head(asked.most).to_string(), flush=True)


def tabulate(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by how many MiB each kind of work grew in the first round, in the second, and in each one later."""
    grew = rows.pivot(index="work", columns="round", values="grew").fillna(0)
    later = grew.loc[:, 3:].mean(axis=1).fillna(0)
    table = pd.DataFrame({"first": grew[1], "second": grew[2], "later, each": later})
    return table.sort_values(["later, each", "second"], ascending=False).round(2)


if __name__ == "__main__":
    main()
