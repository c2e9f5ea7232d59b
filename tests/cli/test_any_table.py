"""Names that mean something elsewhere, to a shell, a formula, HTML or a table, stay whole in every command."""

import csv
from itertools import cycle

import pytest

import bayesanno as ba
from bayesanno.io.beside import open_table
from bayesanno.io.write import TOOLS
from tests.cli.within import run

STRANGE_LABELS = ["nan", "</script>", "nan", "a,b"]
STRANGE = [
    (item, annotator, STRANGE_LABELS[who + number % 2], "" if number % 2 else "</script>")
    for number, item in enumerate(['{"a": [1]}', "=1+1", "01", "a\nb", "\u202eabc"])
    for who, annotator in enumerate(["@crowd", "$\\frac$", "--help"])
]


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")
def test_commands_end_well_and_names_come_back_as_they_were(tmp_path):
    """Each of the commands that reads or writes names, on one fit of strange ones."""

    def write(name, rows, header):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])

    def do(*arguments):
        """Run a command: whether it was done; if not, it says why in one line."""
        code, out, err = run(tmp_path, *arguments)
        lines = err.removesuffix("\n").split("\n")
        assert code in (0, 1), (arguments, code, out, err)
        said = [line for line in lines if not line.startswith("  bayesanno read ")]
        assert [line for line in lines if line.startswith("error: ")] == said[-1:] * code
        assert all("\r" not in line and line.isprintable() for line in lines), err
        return code == 0

    write("a.csv", STRANGE, ("item", "annotator", "label", "gold"))
    data = ba.read_annotations(tmp_path / "a.csv")
    assert len(data.items) == 5
    assert set(data.annotators) == {who for _, who, *_ in STRANGE}
    assert data.labels == ("</script>", "a,b", "nan")
    by_em, first = ("--method", "em", "--seed", 1, "--no-report", "--out"), data.labels[0]
    assert do("fit", "one_coin", "a.csv", *by_em, "x")
    table = open_table(tmp_path / "x" / "labels.csv")
    assert tuple(table["item"]) == data.items
    assert set(table["label"]) <= set(data.classes)
    assert [name for name in table.columns if name.startswith("p[")] == [f"p[{label}]" for label in data.classes]
    assert open_table(tmp_path / "x" / "annotators.csv").iloc[:, 0].tolist() == list(data.annotators)
    write("by.csv", zip(data.items, cycle(data.labels)), ("item", "group"))
    assert do("groups", "x", "--by", "by.csv", "--out", "of_groups.csv", "--figure", "groups.png")
    assert do("report", "x")
    write("gold.csv", zip(data.items, cycle(data.labels)), ("item", "gold"))
    do("recalibrate", "x", "--gold", "gold.csv", "--out", "z", "--no-report")
    write("t.csv", [(item, f"<{item}>") for item in data.items], ("item", "text"))
    for tool in TOOLS:
        names = ("--question", first, "--to-name", data.items[0]) if tool == "label-studio" else ()
        do("export", "x", "--to", tool, "--tasks", "t.csv", *names, "--out", f"{tool}.json")
    loss = [(one, *(int(one != other) for other in data.labels)) for one in data.labels]
    write("l.csv", loss, ("label", *data.labels))
    write("i.csv", [[item] for item in data.items], ["item"])
    write("j.csv", [(name, 2, 0.5) for name in data.annotators], ("annotator", "answers", "cost"))
    files = ("--items", "i.csv", "--annotators", "j.csv", "--loss", "l.csv")
    if do("next", "x", "--batch", 1, *files, "--out", "n.csv"):
        asked = open_table(tmp_path / "n.csv")
        assert asked["item"].iloc[0] in data.items
    assert do("agreement", "a.csv", "--out", "y", "--resamples", 10)
    assert set(open_table(tmp_path / "y" / "annotators.csv").iloc[:, 0]) == set(data.annotators)
    assert do("fit", "mace", "a.csv", f"--unsure={data.labels[-1]}", "--method", "vb", "--no-report", "--out", "u")
