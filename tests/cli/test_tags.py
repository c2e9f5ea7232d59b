"""`bayesanno fit --bio`: a table of valid tags."""


def test_the_command_writes_them(command, tmp_path):
    rows = [f"s1,{i},{who},{tag}" for who in "abc" for i, tag in enumerate(["B-LOC", "I-LOC", "O"] * 5)]
    (tmp_path / "tokens.csv").write_text("\n".join(["text,token,annotator,label", *rows]))
    em = ("--method", "em", "--seed", 1, "--no-report", "--out", "run")
    code, out, err = command("fit", "model_b", "tokens.csv", "--item", "{text}/{token}", "--bio", *em)
    assert code == 0, err
    assert "run/tags.csv" in out.splitlines()
    assert (tmp_path / "run" / "tags.csv").read_text().splitlines()[1].startswith("s1/0,s1,0,B-LOC,")
    code, _, err = command("fit", "model_b", "@crowd", "--bio", *em, "--overwrite")
    assert code == 1
    assert err.splitlines()[-1].startswith("error: labels are not BIO tags, ")
