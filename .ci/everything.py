"""Do once whatever the README says that the package does, with whatever is installed, and say what failed.

Its block of Python is read from there; the commands are below.

`.ci/versions` runs it in environments of old and new dependencies.
"""

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import bayesanno as ba

LIBRARIES = (
    "arviz",
    "dask",
    "llvmlite",
    "matplotlib",
    "nutpie",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "pymc",
    "pytensor",
    "xarray",
)
SHORT = {"random_seed": 1, "progressbar": False}
CHAINS = {"draws": 200, "tune": 200, "chains": 2}
README = Path(__file__).parents[1] / "README.md"
FEW = "--draws 100 --tune 200 --chains 2 --seed 1"
COMMANDS = (  # those of the README as they stand there; each command of `bayesanno --help` at least once
    "--version",
    "models",
    "fit mace @crowd --out crowd",
    "fit mace answers.csv --item ticket --annotator worker --label topic --out answers",
    "fit model_b answers.csv --item ticket --annotator worker --label topic --method vb --out vb",
    "recalibrate crowd --gold gold.csv --out honest",
    "report honest",
    "next crowd --batch 20 --out ask.csv",
    "fit label_free_model @crowd",  # there is none, and that is one line
    f"fit hierarchical_dawid_skene @crowd {FEW} --out population",
    "groups crowd --by systems.csv",
    "export answers --to doccano --tasks answers.csv --item ticket --out labels.jsonl",
    "simulate mace --out simulated.csv --seed 1",
    "agreement @crowd --out agreement --resamples 50",
    f"compare @crowd --model mace --model model_b {FEW} --out models",
    f"sensitivity mace @crowd {FEW} --grid strategy_prior=1,10 --workers 2 --out priors",
)


def list_steps(folder: Path) -> dict[str, Callable[[], object]]:
    """Return what is done, by name, in order; later steps use what earlier ones made."""
    data = ba.read_annotations("@crowd")
    fits: dict[str, object] = {}

    def fit(name: str, model: str, data: object = data, **settings: object) -> None:
        fits[name] = ba.fit(model, data, **(SHORT | settings))

    def read_parquet() -> None:
        data.to_frame().to_parquet(folder / "answers.parquet")
        assert ba.read_annotations(folder / "answers.parquet").hash == data.hash

    def save_and_load() -> None:
        ba.save(fits["model_b"], folder / "fit")
        assert ba.label_table(ba.load(folder / "fit")).equals(ba.label_table(fits["model_b"]))

    def draw_all() -> None:
        for name in ("coverage", "annotators", "confusion", "plates"):
            given = "mace" if name == "plates" else fits["model_b"]
            getattr(ba, f"plot_{name}")(given).savefig(folder / f"{name}.png")

    def by_dask() -> None:
        from distributed import Client

        (folder / "parts").mkdir()
        data.to_frame().to_parquet(folder / "parts" / "part.0.parquet")
        with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as client:
            many = ba.distribute_annotations(str(folder / "parts"), client)
            ba.fit("mace", many, method="em", method_options={"restarts": 1}, **SHORT)

    def write_files() -> None:
        table = data.to_frame().rename(columns={"item": "ticket", "annotator": "worker", "label": "topic"})
        table["text"] = table["ticket"] + ': "soon", or later?'
        table[:600].to_csv(folder / "answers.csv", index=False)
        gold = data.to_frame()[["item"]].drop_duplicates()
        gold.assign(gold=gold["item"].map(data.gold))[:40].to_csv(folder / "gold.csv", index=False)
        gold.assign(group=["ours", "theirs"] * 150).to_csv(folder / "systems.csv", index=False)

    def run(command: str) -> None:
        exit_code = 1 if "label_free_model" in command else 0
        done = subprocess.run(
            [Path(sys.executable).parent / "bayesanno", *command.split()],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == exit_code, done.stderr
        assert not exit_code or len(done.stderr.splitlines()) == 1, done.stderr
        out = command.partition(" --out ")[2].partition(" ")[0]
        assert not out or (folder / out).exists(), done.stdout

    def give_back() -> None:
        control = {"from_name": "topic", "to_name": "text", "type": "choices"}
        tasks = [
            {
                "id": number,
                "data": {"text": f"ticket {number}"},
                "annotations": [
                    {"completed_by": who, "result": [{**control, "value": {"choices": [label]}}]}
                    for who, label in enumerate(("bug", "bug", ("feature", "bug")[number % 2]))
                ],
            }
            for number in range(6)
        ]
        (folder / "project.json").write_text(json.dumps(tasks), encoding="utf-8")
        fitted = ba.fit("mace", ba.read_annotations(folder / "project.json"), method="em", **SHORT)
        written = ba.export_labels(fitted, folder / "to.json", to="label-studio", tasks=folder / "project.json")
        assert written.n_items == 6, written

    def know_all() -> None:
        shown = subprocess.run(
            [Path(sys.executable).parent / "bayesanno", "--help"], capture_output=True, encoding="utf-8", check=True
        )
        listed = set(re.findall(r"^  ([a-z]+) ", shown.stdout.partition("Commands:")[2], re.MULTILINE))
        assert len(listed) > 10, shown.stdout
        assert listed <= {command.split()[0] for command in COMMANDS}, listed

    def run_readme() -> None:
        (code,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        names: dict[str, object] = {}
        with contextlib.chdir(folder):
            exec(code, names)
        assert len(names["ask"]) == 200, names["ask"]
        assert (folder / "model_b.html").exists()

    counts = ba.CountData.from_annotations(data, positive=data.labels[0])
    return {
        "nuts": lambda: fit("model_b", "model_b", **CHAINS),
        "nuts, MACE": lambda: fit("mace", "mace", **CHAINS),
        "nuts, counts": lambda: fit("counts", "binomial_mixture", counts, **CHAINS),
        "advi": lambda: fit("advi", "mace", method="advi", method_options={"steps": 2000}, draws=100),
        "em": lambda: fit("em", "mace", method="em"),
        "vb": lambda: fit("vb", "model_b", method="vb"),
        "parquet": read_parquet,
        "save and load": save_and_load,
        "tables": lambda: [ba.annotator_table(fits["mace"]), ba.summary(fits["mace"]), ba.label_table(fits["em"])],
        "report": lambda: ba.write_report(fits["model_b"], folder / "report.html", random_seed=1),
        "compare": lambda: ba.compare({name: fits[name] for name in ("mace", "model_b")}),
        "sensitivity": lambda: ba.power_scaling_table(fits["model_b"], ["prevalence"]),
        "predictive check": lambda: ba.predictive_check(fits["mace"], replicates=20, random_seed=1),
        "recalibrate": lambda: ba.recalibrate(fits["mace"], dict(list(data.gold.items())[:40])),
        "what to ask next": lambda: ba.suggest_annotations(fits["model_b"], 20, random_seed=1),
        "figures": draw_all,
        "dask": by_dask,
        "from a tool, and back to it": give_back,
        "README, in Python": run_readme,
        "files for the commands": write_files,
        "commands": know_all,
        **{f"bayesanno {command}": partial(run, command) for command in COMMANDS},
    }


def main() -> int:
    """Do every step, print how it went, and return how many failed."""
    print(f"Python {sys.version.split()[0]};", ", ".join(f"{name} {version(name)}" for name in LIBRARIES), flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, step in list_steps(Path(folder)).items():
            begin = time.perf_counter()
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    step()
                    how = f"{time.perf_counter() - begin:.1f} s"
                except Exception:
                    failed += 1
                    how = f"FAILED\n{traceback.format_exc()}"
            print(f"  {name}: {how}", flush=True)
            own = (DeprecationWarning, FutureWarning)
            for line in sorted({str(one.message).splitlines()[0] for one in warned if issubclass(one.category, own)}):
                print(f"    deprecated: {line}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
