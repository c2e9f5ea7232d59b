"""`bayesanno compare`: what it writes and says, and what it refuses before anything is sampled."""

import json
import re

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.io.write import write_table
from tests.samples import tiny_data

LONG = "item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\ns2,bo,yes\ns3,ada,no\ns3,bo,no\n"
TWO = "--model mace --model model_b"


@pytest.fixture
def compare(command, tmp_path):
    """Run `bayesanno compare` in a folder with answers; returns the exit code, stdout and stderr."""
    (tmp_path / "answers.csv").write_text(LONG)
    (tmp_path / "three.csv").write_text(LONG + "s4,ada,maybe\ns4,bo,no\n")
    (tmp_path / "counts.csv").write_text("item,successes,trials\na,1,4\nb,4,4\nc,0,4\nd,2,4\n")
    write_table(tiny_data(gold={"s1": "yes", "s2": "no", "s4": "yes"}).to_frame(), tmp_path / "tiny.csv")
    return lambda arguments: command("compare", *arguments.split())


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.IdentifiabilityWarning")
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.NamesWarning")  # one answers twice
def test_files_are_those_of_the_library(compare, tmp_path):
    specs = ("model_b", "model_b,confusion_accuracy=0.8,confusion_strength=5")
    code, out, err = compare(
        f"tiny.csv --model {specs[0]} --model {specs[1]} --method vb --draws 50 --replicates 100 --seed 3 --out run"
    )
    assert code == 0, err
    files = ["calibration.csv", "calibration.png", "loo.csv", "ppc.csv", "run.json"]
    assert listing(tmp_path / "run") == files
    assert out.splitlines()[-len(files) :] == [f"run/{name}" for name in files]
    data = ba.read_annotations(tmp_path / "tiny.csv")
    models = (ba.models.ModelB(), ba.models.ModelB(confusion_accuracy=0.8, confusion_strength=5))
    fits = {spec: ba.fit(model, data, method="vb", draws=50, random_seed=3, progressbar=False)
            for spec, model in zip(specs, models, strict=True)}  # fmt: skip
    loo, expected = pd.read_csv(tmp_path / "run/loo.csv"), ba.compare(fits, random_seed=3)
    assert loo["name"].tolist() == expected["name"].tolist()
    pd.testing.assert_frame_equal(loo, expected, rtol=1e-5, check_dtype=False)
    ppc = pd.read_csv(tmp_path / "run/ppc.csv", keep_default_na=False)
    calibration = pd.read_csv(tmp_path / "run/calibration.csv")
    for spec, fit in fits.items():
        own = ppc[ppc["name"] == spec].drop(columns="name").reset_index(drop=True)
        check = ba.predictive_check(fit, replicates=100, random_seed=3)
        pd.testing.assert_frame_equal(own, check.table, rtol=1e-5, check_dtype=False)
        own = calibration[calibration["name"] == spec].drop(columns="name").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, ba.calibration_table(fit), rtol=1e-5, check_dtype=False)
    found = json.loads((tmp_path / "run/run.json").read_text())
    assert (found["seed"], found["method"], found["replicates"]) == (3, "vb", 100)
    assert found["models"][specs[1]]["fields"]["confusion_accuracy"] == 0.8
    lines = out.splitlines()
    assert lines[0].split() == [
        "name", "elpd_loo", "elpd_diff", "se_diff", "weight", "n_high_pareto_k", "accuracy", "log_score",
    ]  # fmt: skip
    assert lines[1].split()[0] == expected["name"][0]
    assert all(re.match(rf"{re.escape(spec)} (predicts all|does not predict)", line)
               for spec, line in zip(expected["name"], lines[3:5], strict=True))  # fmt: skip


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.IdentifiabilityWarning")
def test_without_gold_there_is_no_calibration(compare, tmp_path):
    code, out, _ = compare(f"answers.csv {TWO} --method vb --draws 50 --replicates 20 --seed 3 --out run")
    assert code == 0
    assert not any("calibration" in name for name in listing(tmp_path / "run"))
    assert "accuracy" not in out


WRONG = {
    "one model": ("answers.csv --model mace", "--model is given 1 time: give two models or more"),
    "twice": ("answers.csv --model mace --model mace", "--model mace is the same as --model mace: leave one of them"),
    "twice by default": ("answers.csv --model mace --model mace,strategy_prior=10", "strategy_prior=10 is the same as"),
    "twice by alias": ("answers.csv --model model_b --model dawid_skene", "--model dawid_skene is the same as"),
    "unknown model": ("answers.csv --model mace --model model_bb", "no model 'model_bb': did you mean 'model_b'"),
    "unknown field": ("answers.csv --model mace,strategy_prio=3 --model model_b", "did you mean 'strategy_prior'"),
    "no value": ("answers.csv --model mace,strategy_prior --model model_b", "write FIELD=VALUE, as in --model"),
    "out of range": ("answers.csv --model mace,strategy_prior=-3 --model model_b", "strategy_prior is -3"),
    "em": (f"answers.csv {TWO} --method em", "--method em gives one point, and models are compared by draws"),
    "no such method": (f"answers.csv {TWO} --method nut", "there is no method 'nut'"),
    "no vb": ("answers.csv --model mace --model easy_hard --method vb", "easy_hard has no VB: models that have are"),
    "draws": (f"answers.csv {TWO} --draws 0", "draws is 0"),
    "replicates": (f"answers.csv {TWO} --replicates 5", "replicates is 5: it must be at least 20"),
    "seed": (f"answers.csv {TWO} --seed -1", "--seed is -1"),
    "no file": (f"nowhere.csv {TWO}", r"there is no file 'nowhere\.csv'"),
    "other data": ("three.csv --model mace --model diligent_lazy_annotators --positive yes",
                   "mace takes every label as it is: leave out --positive"),
    "counts": ("counts.csv --model binomial_mixture --model mace",
               "the names .* do not say which columns are annotators"),
    "both": ("answers.csv --model mace --model binomial_mixture", "--model binomial_mixture takes other data than"),
    "data that a model does not take": ("counts.csv --model binomial_mixture,types=2 --model binomial_mixture,types=9",
                                        "types"),
    "too many draws": (f"answers.csv {TWO} --draws 100000000", "would take more than 2 GiB for each model"),
    "there already": (f"answers.csv {TWO} --out .", "exists: choose another --out, or --overwrite"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_before_anything_is_sampled_or_written(compare, tmp_path, monkeypatch, wrong):
    def sample(*_, **__):
        raise AssertionError("it must not come to this")

    monkeypatch.setattr(ba, "fit", sample)
    before = listing(tmp_path)
    arguments, match = WRONG[wrong]
    code, out, err = compare(arguments if "--out" in arguments else f"{arguments} --out run")
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert re.search(match, err), err
    assert listing(tmp_path) == before
