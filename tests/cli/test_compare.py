"""`bayesanno compare`: its files are the library's tables, and it says what they say."""

import json
import re

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import enumerated
from bayesanno.io.write import write_table
from tests.samples import tiny_data

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.IdentifiabilityWarning"),
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.NamesWarning"),  # one answers twice
]


@pytest.fixture
def compare(command, tmp_path):
    """Run `bayesanno compare` in a folder with answers, with gold and without; returns its exit code and output."""
    write_table(tiny_data(gold={"s1": "yes", "s2": "no", "s4": "yes"}).to_frame(), tmp_path / "tiny.csv")
    write_table(tiny_data().to_frame(), tmp_path / "plain.csv")
    return lambda arguments: command("compare", *arguments.split())


def test_files_are_those_of_the_library(compare, tmp_path):
    specs = ("model_b", "model_b,confusion_accuracy=0.8,confusion_strength=5")
    code, out, err = compare(
        f"tiny.csv --model {specs[0]} --model {specs[1]} --method vb --draws 50 --replicates 100 --seed 3 --out run"
    )
    assert code == 0, err
    files = ["calibration.csv", "calibration.png", "loo.csv", "ppc.csv", "run.json"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == files
    assert out.splitlines()[-len(files) :] == [f"run/{name}" for name in files]
    data = ba.read_annotations(tmp_path / "tiny.csv")
    models = (ba.models.ModelB(), ba.models.ModelB(confusion_accuracy=0.8, confusion_strength=5))
    fits = {spec: ba.adjust(ba.fit(model, data, method="vb", draws=50, random_seed=3, progressbar=False))
            for spec, model in zip(specs, models, strict=True)}  # fmt: skip
    loo, expected = pd.read_csv(tmp_path / "run/loo.csv"), ba.compare(fits, random_seed=3)
    pd.testing.assert_frame_equal(loo, expected, rtol=1e-5, check_dtype=False)
    ppc = pd.read_csv(tmp_path / "run/ppc.csv", keep_default_na=False)
    calibration = pd.read_csv(tmp_path / "run/calibration.csv")
    for spec, fit in fits.items():
        check = ba.predictive_check(fit, replicates=100, random_seed=3)
        for table, of_library in ((ppc, check.table), (calibration, ba.calibration_table(fit))):
            own = table[table["name"] == spec].drop(columns="name").reset_index(drop=True)
            pd.testing.assert_frame_equal(own, of_library, rtol=1e-5, check_dtype=False)
    found = json.loads((tmp_path / "run/run.json").read_text())
    assert (found["seed"], found["method"], found["replicates"]) == (3, "vb", 100)
    assert found["models"][specs[1]]["fields"]["confusion_accuracy"] == 0.8
    best, other = expected.to_dict("records")
    is_clear = abs(other["elpd_diff"]) >= max(4, 2 * other["se_diff"])
    clearly = "all others are worse" if is_clear else f"not clearly better than {enumerated([other['name']])}"
    assert out.splitlines()[3].startswith(f"{best['name']} predicts best")
    assert clearly in out.splitlines()[3]
    for spec, line in zip(expected["name"], out.splitlines()[4:6], strict=True):
        assert re.match(rf"{re.escape(spec)} (predicts all|does not predict)", line)


def test_without_gold_there_is_no_calibration(compare, tmp_path):
    two = "--model mace --model one_coin"
    code, out, _ = compare(f"plain.csv {two} --method vb --draws 50 --replicates 20 --seed 3 --out run")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["loo.csv", "ppc.csv", "run.json"]
    assert "accuracy" not in out
