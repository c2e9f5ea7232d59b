"""Tables that `bayesanno fit` writes if asked to: grades in order, and BIO tags."""

import json

import pandas as pd

import bayesanno as ba

EM = ("--method", "em", "--seed", 1, "--no-report")


def test_any_model_of_labels_writes_grades_if_asked_to(command, crowd, tmp_path):
    crowd[0].to_frame().to_csv(tmp_path / "answers.csv", index=False)
    code, out, err = command("fit", "mace", "answers.csv", "--labels", "no,maybe,yes", "--grades", *EM, "--out", "run")
    assert code == 0, err
    assert "run/grades.csv" in out.splitlines()
    assert "grades.csv" in json.loads((tmp_path / "run" / "run.json").read_text())["files"]
    expected = ba.grade_table(ba.load(tmp_path / "run"))
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "run" / "grades.csv"), expected, rtol=1e-5, check_dtype=False)


def test_tags_are_written_if_asked_for(command, tmp_path):
    rows = [f"s1,{i},{who},{tag}" for who in "abc" for i, tag in enumerate(["B-LOC", "I-LOC", "O"] * 5)]
    (tmp_path / "tokens.csv").write_text("\n".join(["text,token,annotator,label", *rows]))
    code, out, err = command("fit", "model_b", "tokens.csv", "--item", "{text}/{token}", "--bio", *EM, "--out", "run")
    assert code == 0, err
    assert "run/tags.csv" in out.splitlines()
    assert (tmp_path / "run" / "tags.csv").read_text().splitlines()[1].startswith("s1/0,s1,0,B-LOC,")
    assert not (tmp_path / "run" / "grades.csv").exists()
