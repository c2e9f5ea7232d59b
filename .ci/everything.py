"""Do once whatever the README says that the package does, with whatever is installed, and say what failed.

`.ci/versions` runs it in environments of old and new dependencies.
"""

import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import bayesanno as ba

LIBRARIES = (
    "arviz",
    "dask",
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
        for name in ("labels", "entropy", "coverage", "annotators", "confusion", "traces", "chain_ranks", "plates"):
            given = "mace" if name == "plates" else fits["model_b"]
            getattr(ba, f"plot_{name}")(given).savefig(folder / f"{name}.png")

    def by_dask() -> None:
        from distributed import Client

        (folder / "parts").mkdir()
        data.to_frame().to_parquet(folder / "parts" / "part.0.parquet")
        with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as client:
            many = ba.distribute_annotations(str(folder / "parts"), client)
            ba.fit("mace", many, method="em", method_options={"restarts": 1}, **SHORT)

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
