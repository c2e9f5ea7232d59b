"""`bayesanno read` shows what every command reads, and what every error of reading names works."""

import shlex

import pandas as pd

ROUND = "item,annotator,label,note\ns1,ada,joy,a\ns1,bo,JOY,b\ns2,eve,sad,c\n"


def test_it_prints_the_table_its_labels_and_its_doubts(command, tmp_path):
    (tmp_path / "a.csv").write_text(ROUND)
    code, out, err = command("read", "a.csv", "--out", "long.csv")
    assert (code, err) == (0, "")
    said, *lines = out.splitlines()
    assert said == "a.csv: left out 'note'"
    assert lines[0] == "3 answers to 2 items by 3 annotators"
    assert lines[1] == "labels: joy (1), JOY (1), sad (1)"
    assert (
        "spelling (care): 'joy' and 'JOY' are different labels. Make the spelling identical, or use --ignore-case."
        in out
    )
    assert lines[-1] == "long.csv"
    assert pd.read_csv(tmp_path / "long.csv").columns.tolist() == ["item", "annotator", "label", "row"]
    assert command("read", "long.csv")[1].splitlines()[1] == lines[0]


def test_the_first_rows_that_it_shows_have_an_answer(command, tmp_path):
    (tmp_path / "a.csv").write_text(
        "item,annotator,label\n" + "".join(f"s{n},ada,n/a\n" for n in range(7)) + "s9,ada,x\n"
    )
    rows = command("read", "a.csv", "--missing", "n/a")[1].splitlines()
    assert [line.split() for line in rows if line.split()[:1] == ["s9"]] == [["s9", "ada", "x", "9"]]
    assert not [line for line in rows if line.split()[:1] == ["s0"]]


def test_several_files_and_annotators_that_are_left_out(command, tmp_path):
    (tmp_path / "a.csv").write_text(ROUND)
    (tmp_path / "b.csv").write_text("label,item,annotator,note\nsad,s2,ada,d\n")
    code, out, _ = command("read", "a.csv", "b.csv", "--without", "eve,bo")
    assert code == 0
    assert out.splitlines()[1] == "2 answers to 2 items by 1 annotator"
    code, _, err = command("fit", "one_coin", "a.csv", "b.csv", "--ignore-case", "--without", "eve", "--method", "em",
                           "--no-report", "--out", "run", "--no-adjust")  # fmt: skip
    assert code == 0, err
    assert "3 annotations of 2 items by 2 annotators; labels joy, sad" in err


def test_commands_that_errors_name_are_followed(command, tmp_path):
    (tmp_path / "t.csv").write_text("Tweet No., Annotator name,Emotion (main)\n1,ada,joy\n1,bo,sad\n2,ada,joy\n")
    for asked in ("fit one_coin t.csv --out run", "agreement t.csv --out run", "read t.csv"):
        code, _, err = command(*asked.split())
        assert code == 1
        error, first, *_ = err.splitlines()
        assert len(error) <= len("error: ") + 160
        assert (
            first == "  bayesanno read t.csv --item 'Tweet No.' --annotator 'Annotator name' --label 'Emotion (main)'"
        )
    code, out, _ = command(*shlex.split(first)[1:])
    assert (code, out.splitlines()[1]) == (0, "3 answers to 2 items by 2 annotators")


def test_a_row_that_is_wrong_is_shown_and_doubted(command, tmp_path):
    (tmp_path / "a.csv").write_text("item,annotator,label\ns1,ada,x\ns1,,y\n")
    code, _, err = command("agreement", "a.csv", "--out", "new")
    assert code == 1
    assert err.splitlines()[-1] == "  bayesanno read a.csv"
    code, out, _ = command("read", "a.csv")
    assert code == 0
    assert "no-annotator (stop): a.csv, line 3: label 'y' of item 's1' has no annotator. Fill it in" in out


def test_a_list_that_is_given_twice_is_one_list_and_read_refuses_what_a_fit_refuses(command, tmp_path):
    rows = [f"s{k},{who},{label}" for k, (who, label) in enumerate([("a", "x"), ("b", "n/a"), ("a", "y"), ("b", "?")])]
    (tmp_path / "t.csv").write_text("\n".join(["item,annotator,label", *rows]))
    code, out, _ = command("read", "t.csv", "--missing", "n/a", "--missing", "?")
    assert code == 0
    assert "labels: x (1), y (1)" in out
    code, out, err = command("read", "t.csv", "--labels", "x,y")
    assert (code, out) == (1, "")
    assert "label 'n/a' of item 's1' is not among the declared labels" in err


def test_a_fit_says_first_that_names_may_be_mistakes(command, tmp_path):
    labels = ["yes", "no", "Yes", "no", "yes", "no"]
    rows = [f"s{k},{who},{label}" for k, label in enumerate(labels) for who in "abc"]
    (tmp_path / "t.csv").write_text("\n".join(["item,annotator,label", *rows]))
    fit = ["fit", "one_coin", "t.csv", "--method", "em", "--seed", 1, "--no-report"]
    _, _, err = command(*fit, "--out", "run")
    assert "first: correct the names that were warned of (spelling), and fit again before you judge\n" in err
    for option in (("--ignore-case",), ("--labels", "yes,no,Yes")):  # joined, or meant
        _, _, err = command(*fit, *option, "--out", f"run{len(option)}")
        assert "first: " not in err
