"""`bayesanno agreement`: the tables, the figures, the words, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from tests.samples import simulate_crowd


@pytest.fixture
def run(command, tmp_path):
    """Run `bayesanno agreement` in a folder with crowd.csv; returns the exit code, stdout and stderr."""
    simulate_crowd()[0].to_frame().to_csv(tmp_path / "crowd.csv", index=False)
    return lambda arguments: command("agreement", *arguments.split())


def test_tables_and_figures_are_written_and_listed(run, tmp_path):
    code, out, err = run("crowd.csv --out found --seed 1 --resamples 100")
    assert code == 0
    assert err == "1,646 annotations of 400 items by 30 annotators; labels maybe, no, yes\n"
    data = ba.read_annotations(tmp_path / "crowd.csv")
    read = {path.name: pd.read_csv(path) for path in (tmp_path / "found").glob("*.csv")}
    coefficients = read["coefficients.csv"]
    expected = ba.agreement_table(data, resamples=100, random_seed=1)
    assert coefficients.columns.tolist() == ["coefficient", "value", "ci89_lb", "ci89_ub", "reason"]
    np.testing.assert_allclose(coefficients["value"], expected["value"], rtol=1e-5)
    assert (
        coefficients.loc[coefficients["coefficient"].str.contains("alpha"), "coefficient"].iloc[0].endswith("nominal")
    )
    annotators = read["annotators.csv"]
    first = ["annotator", "n", "leverage", "kld", "jsd_mean", "alpha_without"]
    assert annotators.columns[:6].tolist() == first
    np.testing.assert_allclose(annotators["leverage"], ba.usage_table(data)["leverage"], rtol=1e-5)
    np.testing.assert_allclose(annotators["kappa"], ba.annotator_agreement(data)["cohen_kappa"], rtol=1e-5)
    pairs = read["pairs.csv"]
    assert pairs.columns[:7].tolist() == ["annotator_1", "annotator_2", "n", "jsd", "agreement", "kappa", "alpha"]
    assert len(pairs) == 30 * 29 / 2
    assert read["labels.csv"].columns[:4].tolist() == ["label_1", "label_2", "times_confused", "rate"]
    assert read["subsets.csv"].columns[:2].tolist() == ["size", "annotators"]
    lines = out.splitlines()
    assert lines[1].split()[0] == "percent_agreement"
    noise, bound = read["noise.csv"].iloc[0], ba.noise.bound_noise_of(data)
    assert tuple(noise[["n", "d", "t0"]]) == (bound.n, bound.d, bound.t0)
    assert (
        f"unanimous by chance: at most {bound.n_noise} of {bound.n_agreed} unanimous items, with probability 0.95"
        in out
    )
    assert any(line.startswith("labels that annotators most often give to the same item: ") for line in lines)
    written = json.loads((tmp_path / "found" / "run.json").read_text())
    assert {path.name for path in (tmp_path / "found").iterdir()} == set(written["files"])
    assert [str(name) for name in written["files"]] == [
        line.removeprefix("found/") for line in lines if "found/" in line
    ]
    for name in ("usage", "divergence", "distances"):
        assert (tmp_path / "found" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


def test_with_a_posterior_annotators_have_intervals(run, tmp_path):
    code, out, _ = run("crowd.csv --out found --seed 1 --resamples 0 --posterior --no-plots")
    assert code == 0
    table = pd.read_csv(tmp_path / "found" / "annotators.csv")
    for what in ("leverage", "kld", "jsd_mean"):
        for column in ("mean", "sd", "eti89_lb", "eti89_ub"):
            assert np.isfinite(table[f"{what}_{column}"]).all()
    who = table.loc[table["farthest_probability"].idxmax()]
    line = next(line for line in out.splitlines() if line.startswith("uses labels least like the others"))
    assert line.endswith(
        f"with probability {who['farthest_probability']:.2f}: {who['annotator']} ({who['n']} annotations)"
    )
    assert not list((tmp_path / "found").glob("*.png"))
    assert pd.read_csv(tmp_path / "found" / "coefficients.csv")["ci89_lb"].isna().all()


def test_two_annotators_are_enough(run, tmp_path):
    (tmp_path / "two.csv").write_text(
        "item,annotator,label\n" + "".join(f"s{n},{who},{n % 2}\n" for n in range(9) for who in "ab")
    )
    code, out, _ = run("two.csv --out found --seed 1")
    assert code == 0
    assert "alike" not in out
    assert not (tmp_path / "found" / "noise.csv").exists()  # no item is disagreed on
    assert not (tmp_path / "found" / "distances.png").exists()
    assert (tmp_path / "found" / "usage.png").exists()


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        ("s1,a,x\ns2,a,y\n", "", "no item has two annotations: agreement is between at least two"),
        ("s1,a,x\ns2,b,y\n", "", "no item has two annotations: agreement is between at least two"),
        ("s1,a,x\ns1,b,x\n", "", "bad.csv: only one label, 'x': a model needs at least two"),
        ("s1,a,x\ns1,b,y\n", "--resamples -1", "resamples is -1: it must be 0 or more"),
        ("s1,a,x\ns1,b,y\n", "--seed -1", "--seed is -1"),
    ],
)
def test_what_cannot_be_measured_is_one_line_and_nothing_is_written(run, tmp_path, table, arguments, message):
    (tmp_path / "bad.csv").write_text(f"item,annotator,label\n{table}")
    code, out, err = run(f"bad.csv --out found {arguments}")
    assert (code, out) == (1, "")
    assert f"error: {message}" in err.splitlines()[-1]
    assert not (tmp_path / "found").exists()


def test_sets_of_labels_are_compared_if_answers_have_several(run, tmp_path):
    rows = [(f"i{n}", who, "joy|fear" if (n + (who == "cy")) % 3 else "anger") for n in range(9) for who in ("a", "cy")]
    said = pd.DataFrame(rows, columns=["item", "annotator", "label"])
    said.to_csv(tmp_path / "sets.csv", index=False)
    more = "--out found --seed 1 --resamples 0 --no-plots --overwrite --sets"
    assert run(f"sets.csv {more} --multi-label --split |")[0] == 0
    table = pd.read_csv(tmp_path / "found" / "coefficients.csv").set_index("coefficient")["value"]
    data = ba.read_annotations(said, split="|", multi_label=True)
    expected = ba.agreement_table(data, sets=True, resamples=0).set_index("coefficient")["value"]
    assert table.index.tolist() == expected.index.tolist()
    assert table["krippendorff_alpha_masi"] == pytest.approx(expected["krippendorff_alpha_masi"], rel=1e-5)
    code, _, err = run(f"crowd.csv {more}")
    assert (code, err.splitlines()[-1].endswith("read with --multi-label")) == (1, True)


def test_what_is_there_is_replaced_only_if_it_is_said(run):
    assert run("crowd.csv --out found --no-plots --resamples 0")[0] == 0
    code, _, err = run("crowd.csv --out found --no-plots --resamples 0")
    assert (code, err.splitlines()[-1]) == (1, "error: found exists: choose another --out, or --overwrite")
    assert run("crowd.csv --out found --no-plots --resamples 0 --overwrite")[0] == 0


def test_where_gold_is_known_pairs_have_the_correlation_of_their_errors(run, tmp_path):
    data = simulate_crowd()[0]
    (tmp_path / "gold.csv").write_text(
        "item,gold\n" + "".join(f"{item},{label}\n" for item, label in data.gold.items())
    )
    table = data.to_frame().drop(columns="gold")
    table.to_csv(tmp_path / "plain.csv", index=False)
    for given in ("plain.csv --gold-file gold.csv", "crowd.csv"):
        code, _, _ = run(f"{given} --out found --seed 1 --resamples 0 --no-plots --overwrite")
        assert code == 0
        pairs = pd.read_csv(tmp_path / "found" / "pairs.csv").dropna(subset=["error_correlation"])
        expected = ba.pair_table(data).dropna(subset=["error_correlation"])
        np.testing.assert_allclose(
            np.sort(pairs["error_correlation"]), np.sort(expected["error_correlation"]), atol=1e-5
        )
    run("plain.csv --out found --seed 1 --resamples 0 --no-plots --overwrite")
    assert "error_correlation" not in pd.read_csv(tmp_path / "found" / "pairs.csv")
