"""`bayesanno agreement`: the tables are the library's, and the figures and the words are those of the tables."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
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
    data, lines = ba.read_annotations(tmp_path / "crowd.csv"), out.splitlines()
    read = {path.name: pd.read_csv(path) for path in (tmp_path / "found").glob("*.csv")}
    expected = ba.agreement_table(data, resamples=100, random_seed=1).set_index("coefficient")
    written = read["coefficients.csv"].set_index("coefficient")
    pd.testing.assert_frame_equal(written.drop(columns="reason"), expected.drop(columns="reason"), rtol=1e-5)
    annotators = read["annotators.csv"]
    np.testing.assert_allclose(annotators["leverage"], ba.usage_table(data)["leverage"], rtol=1e-5)
    np.testing.assert_allclose(annotators["kappa"], ba.annotator_agreement(data)["cohen_kappa"], rtol=1e-5)
    by_errors, of_library = (table["error_correlation"].dropna() for table in (read["pairs.csv"], ba.pair_table(data)))
    np.testing.assert_allclose(np.sort(by_errors), np.sort(of_library), atol=1e-5)
    noise, bound = read["noise.csv"].iloc[0], ba.noise.bound_noise_of(data)
    assert tuple(noise[["n", "d", "t0"]]) == (bound.n, bound.d, bound.t0)
    assert f"at most {bound.n_noise} of the {bound.n_agreed} unanimous items are so by chance" in out
    assert "means over the pairs of annotators: scott_pi, cohen_kappa\n" in out
    before = [line for line in lines if not line.startswith("found/")]
    assert before[-1] == ba.agreement.advise(data, expected.reset_index())
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
        assert (table[f"{what}_eti89_lb"] < table[f"{what}_mean"]).all()
    who = table.loc[table["farthest_probability"].idxmax()]
    shown = f"{who['annotator']} ({who['n']} annotations) uses labels least like the others"
    assert f"{shown}, with probability {who['farthest_probability']:.2f}\n" in out
    assert not list((tmp_path / "found").glob("*.png"))
    assert pd.read_csv(tmp_path / "found" / "coefficients.csv")["ci89_lb"].isna().all()


def test_two_annotators_are_enough_and_their_labels_may_be_sets(agree, tmp_path):
    rows = "".join(f"s{n},{who},{'joy|fear' if n % 3 else 'anger'}\n" for n in range(9) for who in "ab")
    (tmp_path / "two.csv").write_text(f"item,annotator,label\n{rows}")
    code, out, _ = agree("two.csv --out found --seed 1 --resamples 0 --sets --multi-label --split |")
    assert code == 0
    assert "krippendorff_alpha_masi" in out
    assert "alike" not in out
    assert not (tmp_path / "found" / "noise.csv").exists()  # no item is disagreed on
    assert not (tmp_path / "found" / "distances.png").exists()
    assert (tmp_path / "found" / "usage.png").exists()
    assert "error_correlation" not in pd.read_csv(tmp_path / "found" / "pairs.csv")  # no gold


def test_ratings_are_compared_by_their_values(agree, tmp_path, rng):
    values = rng.uniform(10, 90, (40, 1)) + rng.normal(0, 8, (40, 3))
    rows = "".join(f"s{i},{who},{values[i, j]:.1f}\n" for i in range(40) for j, who in enumerate("abc") if (i + j) % 5)
    (tmp_path / "rated.csv").write_text(f"item,annotator,rating\n{rows}")
    code, out, err = agree("rated.csv --scale -30:130 --out found --seed 1 --resamples 200")
    assert code == 0
    assert err == ba.read_ratings(tmp_path / "rated.csv", scale=(-30, 130)).describe() + "\n"
    data = ba.read_ratings(tmp_path / "rated.csv", scale=(-30, 130))
    expected = ba.rating_agreement(data, resamples=200, random_seed=1)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "found" / "coefficients.csv"), expected, rtol=1e-4)
    assert f"{expected['value'][0]:.3f}" in out
    assert ba.agreement.advise(data, expected) in out
    assert json.loads((tmp_path / "found" / "run.json").read_text())["data"]["scale"] == [-30, 130]
    for more, said in (("--ordered", "compares values"), ("--unsure dunno", "leave out --unsure")):
        code, _, err = agree(f"rated.csv --scale -30:130 {more} --out other")
        assert (code, said in err) == (1, True)
        assert not (tmp_path / "other").exists()


def test_it_says_in_which_order_it_takes_labels_and_reports_by_that(agree, tmp_path):
    table = pd.read_csv(tmp_path / "crowd.csv")
    said = {}
    for file, names in (("moods", ("bad", "good", "very good")), ("marks", (1, 2, 3)), ("crowd", None)):
        words = (
            table if names is None else table.replace({"label": dict(zip(("no", "maybe", "yes"), names, strict=True))})
        )
        words.drop(columns="gold").to_csv(tmp_path / f"{file}.csv", index=False)
        for flag in ("", "--unordered"):
            options = f"{file}.csv {flag} --out found --overwrite --seed 1 --resamples 20 --no-plots"
            code, out, err = agree(options)
            assert code == 0, err
            order = [line for line in out.splitlines() if line.startswith("labels are taken as ordered")]
            said[file, flag] = [*order, *(["ordinal"] if "Report Krippendorff's ordinal alpha" in out else [])]
    how = ": if they are not, use --unordered"
    assert said["moods", ""] == [f"labels are taken as ordered, bad < good < very good{how}", "ordinal"]
    assert said["marks", ""] == [f"labels are taken as ordered numbers{how}", "ordinal"]
    assert said["crowd", ""] == said["crowd", "--unordered"] == said["moods", "--unordered"] == []
