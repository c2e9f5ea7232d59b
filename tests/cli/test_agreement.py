"""`bayesanno agreement`: the tables are the library's, and the figures and the words are those of the tables."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.wording import on_command_line
from tests.samples import simulate_crowd


@pytest.fixture
def agree(command, tmp_path):
    """Run `bayesanno agreement` in a folder with crowd.csv; returns the exit code, stdout and stderr."""
    simulate_crowd()[0].to_frame().to_csv(tmp_path / "crowd.csv", index=False)
    return lambda arguments: command("agreement", *arguments.split())


def test_tables_and_figures_are_written_and_listed(agree, tmp_path):
    code, out, err = agree("crowd.csv --out found --seed 1 --resamples 100")
    assert code == 0
    assert err == "1,646 annotations of 400 items by 30 annotators; labels maybe, no, yes\n"
    data = ba.read_annotations(tmp_path / "crowd.csv")
    read = {path.name: pd.read_csv(path) for path in (tmp_path / "found").glob("*.csv")}
    with on_command_line():  # as reasons name options
        expected = ba.agreement_table(data, resamples=100, random_seed=1)
    written = read["coefficients.csv"].assign(reason=lambda table: table["reason"].fillna("").astype(str))
    pd.testing.assert_frame_equal(written, expected, rtol=1e-5, check_dtype=False)
    annotators = read["annotators.csv"]
    assert annotators.columns[:6].tolist() == ["annotator", "n", "leverage", "kld", "jsd_mean", "alpha_without"]
    np.testing.assert_allclose(annotators["leverage"], ba.usage_table(data)["leverage"], rtol=1e-5)
    np.testing.assert_allclose(annotators["kappa"], ba.annotator_agreement(data)["cohen_kappa"], rtol=1e-5)
    pairs = read["pairs.csv"]
    assert pairs.columns[:7].tolist() == ["annotator_1", "annotator_2", "n", "jsd", "agreement", "kappa", "alpha"]
    assert len(pairs) == 30 * 29 / 2
    by_errors = pairs["error_correlation"].dropna()  # where gold is known
    of_library = ba.pair_table(data)["error_correlation"].dropna()
    np.testing.assert_allclose(np.sort(by_errors), np.sort(of_library), atol=1e-5)
    lines = out.splitlines()
    assert lines[1].split()[0] == "percent_agreement"
    noise, bound = read["noise.csv"].iloc[0], ba.noise.bound_noise_of(data)
    assert tuple(noise[["n", "d", "t0"]]) == (bound.n, bound.d, bound.t0)
    said = f"at most {bound.n_noise} of {bound.n_agreed} unanimous items, with probability 0.95"
    assert f"unanimous by chance: {said}" in out
    assert any(line.startswith("labels that annotators most often give to the same item: ") for line in lines)
    written = json.loads((tmp_path / "found" / "run.json").read_text())
    assert {path.name for path in (tmp_path / "found").iterdir()} == set(written["files"])
    assert [f"found/{name}" for name in written["files"]] == [line for line in lines if line.startswith("found/")]
    for name in ("usage", "divergence", "distances"):
        assert (tmp_path / "found" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


def test_with_a_posterior_annotators_have_intervals(agree, tmp_path):
    code, out, _ = agree("crowd.csv --out found --seed 1 --resamples 0 --posterior --no-plots")
    assert code == 0
    table = pd.read_csv(tmp_path / "found" / "annotators.csv")
    for what in ("leverage", "kld", "jsd_mean"):
        for column in ("mean", "sd", "eti89_lb", "eti89_ub"):
            assert np.isfinite(table[f"{what}_{column}"]).all()
    who = table.loc[table["farthest_probability"].idxmax()]
    line = next(line for line in out.splitlines() if line.startswith("uses labels least like the others"))
    shown = f"{who['farthest_probability']:.2f}: {who['annotator']} ({who['n']} annotations)"
    assert line.endswith(f"with probability {shown}")
    assert not list((tmp_path / "found").glob("*.png"))
    assert pd.read_csv(tmp_path / "found" / "coefficients.csv")["ci89_lb"].isna().all()


def test_two_annotators_are_enough(agree, tmp_path):
    rows = "".join(f"s{n},{who},{n % 2}\n" for n in range(9) for who in "ab")
    (tmp_path / "two.csv").write_text(f"item,annotator,label\n{rows}")
    code, out, _ = agree("two.csv --out found --seed 1")
    assert code == 0
    assert "alike" not in out
    assert not (tmp_path / "found" / "noise.csv").exists()  # no item is disagreed on
    assert not (tmp_path / "found" / "distances.png").exists()
    assert (tmp_path / "found" / "usage.png").exists()
    assert "error_correlation" not in pd.read_csv(tmp_path / "found" / "pairs.csv")  # no gold


def test_sets_of_labels_are_compared_if_answers_have_several(agree, tmp_path):
    rows = [(f"i{n}", who, "joy|fear" if (n + (who == "cy")) % 3 else "anger") for n in range(9) for who in ("a", "cy")]
    said = pd.DataFrame(rows, columns=["item", "annotator", "label"])
    said.to_csv(tmp_path / "sets.csv", index=False)
    assert agree("sets.csv --out found --resamples 0 --no-plots --sets --multi-label --split |")[0] == 0
    table = pd.read_csv(tmp_path / "found" / "coefficients.csv").set_index("coefficient")["value"]
    data = ba.read_annotations(said, split="|", multi_label=True)
    expected = ba.agreement_table(data, sets=True, resamples=0).set_index("coefficient")["value"]
    pd.testing.assert_series_equal(table, expected, rtol=1e-5)
