"""Whatever names a table has, reading it and every quick command end in a result or in one line, and names stay whole.

The environment variable BAYESANNO_EXAMPLES says how many tables to try in place of the one or the few of a plain run.
"""

import csv
import io
import os
import shutil
import tempfile
import warnings
from collections import Counter
from itertools import cycle
from pathlib import Path

import pandas as pd
import pymc  # noqa: F401 -- which raises the recursion limit, and Hypothesis minds that in the middle of a test
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from bayesanno._core.errors import BayesannoError
from bayesanno.io.annotations import read_annotations
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.sources import open_table
from bayesanno.io.spelling import join_numbers
from bayesanno.io.tools import TOOLS
from tests.cli.within import run

TRIED = int(os.environ.get("BAYESANNO_EXAMPLES", "0"))
NAMES = (
    "1", "01", "1.0", "-0", "1e3", "1e999", "nan", "NaN", "NA", "None", "null", "inf", "true", "2024-02-30", "12:30",
    '{"a": [1]}', "[1, 2]", "=1+1", "@crowd", "-", "--help", "+", "#", "$x$", "$\\frac$", "\\", "%d", "{", "{0}", "_",
    "a,b", "a;b", "a\tb", "a|b", '"', '""', "'", "a\nb", "a\r\nb", "a\rb", "\ufeff", "\u200f", "\u202eabc", "\u00a0",
    "\u2028", "\x85", "\x1c", "\x0b", "e\u0301", "\u00e9", "\ufb01", "\u0130", "\U0001f600", "\x00", "\x1b[31m", "",
    " ", "a ", "item", "annotator", "label", "gold", "count", "draw", "chain", "unsure", "a" * 300, "<b>&amp;</b>",
    "</script>", "https://example.org/?a=1&b=2", "../x", "C:\\x",
)  # fmt: skip

names = st.sampled_from(NAMES) | st.text(max_size=4)
TABLE = (
    st.tuples(
        st.lists(names, min_size=1, max_size=5, unique=True),
        st.lists(names, min_size=1, max_size=4, unique=True),
        st.lists(names, min_size=1, max_size=4, unique=True),
    )
    .flatmap(
        lambda each: st.lists(
            st.tuples(*map(st.sampled_from, each), st.sampled_from([*each[2], ""])), min_size=1, max_size=16
        )
    )
    .filter(lambda rows: not any(row[1] == row[2] == "[1, 2]" for row in rows))
)  # which is a label by each of two


def unlike(least, most):
    """Names that stay different and not empty when blanks around them are cut."""
    return st.lists(names.map(str.strip).filter(lambda name: name and "\0" not in name), min_size=least, max_size=most,
                    unique=True)  # fmt: skip


@st.composite
def readable(draw):
    """A table that can be read, with two labels or more and one gold label, or none, of each item."""
    items, annotators, labels = draw(unlike(1, 5)), draw(unlike(1, 4)), draw(unlike(2, 4))
    gold = dict(zip(items, draw(st.lists(st.sampled_from([*labels, ""]), min_size=5, max_size=5)), strict=False))
    rows = draw(st.lists(st.tuples(*map(st.sampled_from, (items, annotators, labels))), min_size=1, max_size=15))
    other = next(label for label in labels if label != rows[0][2])
    return [(*row, gold[row[0]]) for row in [*rows, (rows[0][0], annotators[-1], other)]]


HEADERS = (("item", "annotator", "label", "gold"), ("Task", "WORKER", "answer", "truth"))
QUOTING = (csv.QUOTE_ALL, csv.QUOTE_MINIMAL)


def many(usual):
    phases = [Phase.generate] if TRIED else list(Phase)
    return settings(max_examples=TRIED or usual, suppress_health_check=list(HealthCheck), phases=phases)


def as_file(rows, header, separator, quoting, line_end="\n"):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=line_end)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def said(rows):
    """What a table says, by its own words: answers with labels as they are read, items and annotators."""
    cells = [tuple(cell.strip() for cell in row) for row in rows]
    written = join_numbers({cell for row in cells for cell in row[2:]}, ReadOptions())
    cells = [(*row[:2], *(written.get(cell, cell) for cell in row[2:])) for row in cells]
    return (
        Counter(row[:3] for row in cells if row[2]),
        {row[0] for row in cells} - {""},
        {row[1] for row in cells} - {""},
    )


def read(source, **options):
    """The data in a source, or None where it is refused in one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data, refused = read_annotations(source, **options), ""
        except BayesannoError as error:
            data, refused = None, str(error)
    assert is_one_line(refused)
    return data


def is_one_line(text):
    return len(text.split("\n")) == 1 and "\r" not in text and text.isprintable()


def agrees(data, rows):
    """Whether data are what the rows say."""
    answers, items, annotators = said(rows)
    found = zip(data.item.tolist(), data.annotator.tolist(), data.label.tolist(), strict=True)
    assert Counter((data.items[i], data.annotators[j], data.labels[k]) for i, j, k in found) == answers
    assert set(data.items) == items
    assert set(data.annotators) == annotators
    assert set(data.labels) == {label for _, _, label in answers}


@many(25)
@given(rows=TABLE, header=st.sampled_from(HEADERS), separator=st.sampled_from(",\t;|"),
       quoting=st.sampled_from(QUOTING), mark=st.booleans(), line_end=st.sampled_from(["\n", "\r\n"]))  # fmt: skip
def test_a_table_reads_as_it_is_from_text_and_from_memory(rows, header, separator, quoting, mark, line_end):
    with tempfile.TemporaryDirectory() as folder:
        path, parquet = Path(folder, "a.csv"), Path(folder, "a.parquet")
        path.write_bytes(("\ufeff" * mark + as_file(rows, header, separator, quoting, line_end)).encode())
        frame = pd.DataFrame(rows, columns=list(header), dtype=object)
        frame.to_parquet(parquet)
        of_text, of_frame, of_parquet = read(path), read(frame), read(parquet)
    for data in (of_text, of_frame, of_parquet):
        if data is not None:
            agrees(data, rows)
    if not any("\0" in cell for row in rows for cell in row):  # which no text file has
        assert (of_text is None) == (of_frame is None) == (of_parquet is None)


# -------------------------------------------------------------------------------------------------------- commands


def write_table(folder, name, rows, header, quoting=csv.QUOTE_ALL):
    (folder / name).write_bytes(as_file(rows, header, ",", quoting).encode())
    return name


def ends_well(folder, *arguments):
    """Run a command: whether it was done; if not, it says why in one line."""
    code, out, err = run(folder, *arguments)
    lines = err.removesuffix("\n").split("\n")
    assert code in (0, 1), (arguments, code, out, err)
    if code == 1:
        assert lines[-1].startswith("error: "), err
        assert [line for line in lines if line.startswith("error: ")] == lines[-1:]
    for line in lines:
        assert is_one_line(line), repr(line)
    return code == 0


def fit_by(method, folder, out, *more, model="one_coin"):
    settings = ("--method", method, "--seed", 1, "--no-report")
    return ends_well(folder, "fit", model, "a.csv", *settings, "--out", out, *more)


def fits(folder, data):
    if not fit_by("em", folder, "x"):
        return
    table = open_table(folder / "x" / "labels.csv")
    by_name = dict(zip(table.header, table.columns, strict=True))
    assert tuple(by_name["item"]) == data.items
    assert set(by_name["label"]) <= set(data.classes)
    assert [name for name in table.header if name.startswith("p[")] == [f"p[{label}]" for label in data.classes]
    assert open_table(folder / "x" / "annotators.csv").columns[0] == list(data.annotators)
    assert fit_by("vb", folder, "y", "--gold-file", "x/labels.csv", model="mace")
    write_table(folder, "groups.csv", zip(data.items, cycle(data.labels)), ("item", "group"))
    ends_well(folder, "groups", "x", "--by", "groups.csv", "--out", "of_groups.csv", "--figure", "groups.png")
    ends_well(folder, "report", "x")
    write_table(folder, "gold.csv", zip(data.items, cycle(data.labels)), ("item", "gold"))
    ends_well(folder, "recalibrate", "x", "--gold", "gold.csv", "--out", "z")


def export(folder, data):
    if not fit_by("em", folder, "x"):
        return
    write_table(folder, "t.csv", [(item, f"<{item}>") for item in data.items], ("item", "text"))
    for tool in TOOLS:
        names = ("--question", data.labels[0], "--to-name", data.items[0]) if tool == "label-studio" else ()
        ends_well(folder, "export", "x", "--to", tool, "--tasks", "t.csv", *names, "--out", f"{tool}.json")


def ask(folder, data):
    if not fit_by("em", folder, "x"):
        return
    loss = [(label, *(int(label != other) for other in data.labels)) for label in data.labels]
    write_table(folder, "l.csv", loss, ("label", *data.labels))
    write_table(folder, "i.csv", [[item] for item in data.items], ["item"])
    write_table(folder, "j.csv", [(name, 2, 0.5) for name in data.annotators], ("annotator", "answers", "cost"))
    files = ("--items", "i.csv", "--annotators", "j.csv")
    if ends_well(folder, "next", "x", "--batch", 1, "--loss", "l.csv", *files, "--out", "n.csv"):
        asked = open_table(folder / "n.csv")
        row = dict(zip(asked.header, (column[0] for column in asked.columns), strict=True))
        assert row["item"] in data.items
        answer = (row["item"], row["annotator"], data.labels[0])
        write_table(folder, "more.csv", [answer], ("item", "annotator", "label"))
        fit_by("em", folder, "z", "--add", "more.csv")
    ends_well(folder, "next", "x", "--batch", 1, "--target", "gold")


def agreement(folder, data):
    if ends_well(folder, "agreement", "a.csv", "--out", "y", "--resamples", 10):
        assert set(open_table(folder / "y" / "annotators.csv").columns[0]) == set(data.annotators)
    ends_well(folder, "agreement", "a.csv", "--posterior", "--seed", 1, "--resamples", 0, "--no-plots", "--out", "v")


def compare(folder, _):
    if ends_well(folder, "compare", "a.csv", "--model", "mace", "--model", "one_coin", "--method", "vb", "--draws", 30,
                 "--chains", 1, "--replicates", 20, "--seed", 1, "--out", "x"):  # fmt: skip
        assert set(open_table(folder / "x" / "loo.csv").columns[0]) == {"mace", "one_coin"}


def sensitivity(folder, _):
    ends_well(folder, "sensitivity", "mace", "a.csv", *FEW, "--workers", 1, "--grid", "strategy_prior=1", "--out", "x")


def simulate(folder, data):
    ends_well(folder, "simulate", "mace", "--items", 3, "--annotators", 2, "--per-item", 2, "--seed", 1,
              f"--labels={','.join(data.labels)}", "--out", "s.csv")  # fmt: skip


def options(folder, data):
    fit_by("em", folder, "x", f"--labels={','.join(sorted(data.labels, reverse=True))}")
    fit_by("em", folder, "y", f"--unsure={data.labels[0]}", model="mace")
    controls = write_table(folder, "c.csv", [(data.items[0], data.labels[0])], ("item", "label"))
    fit_by("em", folder, "z", "--controls", controls)
    ends_well(folder, "fit", "binomial_mixture", "a.csv", f"--positive={data.labels[0]}", *FEW, "--out", "w")


def dimensions(folder, data):
    columns = [data.labels[0], data.items[0]]
    answers = dict(zip(zip(data.item, data.annotator, strict=True), data.label, strict=True))  # one of each to an item
    rows = [(data.items[i], data.annotators[j], data.labels[k], data.labels[-1 - k]) for (i, j), k in answers.items()]
    write_table(folder, "d.csv", rows, ("item", "annotator", *columns))
    named = [f"--label={name}" for name in columns]
    ends_well(folder, "fit", "model_a_multi", "d.csv", *named, *FEW, "--out", "x")


FEW = ("--draws", 10, "--tune", 10, "--chains", 2, "--seed", 1)
COMMANDS = (fits, export, ask, agreement, compare, sensitivity, simulate, options, dimensions)
STRANGE_LABELS = ["nan", "</script>", "nan", "a,b"]
STRANGE = [
    (item, annotator, STRANGE_LABELS[who + number % 2], "" if number % 2 else "</script>")
    for number, item in enumerate(['{"a": [1]}', "=1+1", "01", "a\nb", "\u202eabc"])
    for who, annotator in enumerate(["@crowd", "$\\frac$", "--help"])
]


@pytest.mark.parametrize("chosen", COMMANDS)
@settings(many(1), phases=[Phase.generate if TRIED else Phase.explicit])
@given(rows=readable(), quoting=st.sampled_from(QUOTING))
@example(rows=STRANGE, quoting=csv.QUOTE_MINIMAL)
def test_commands_end_well_and_names_come_back_as_they_were(rows, quoting, chosen):
    folder = Path(tempfile.mkdtemp())
    try:
        write_table(folder, "a.csv", rows, HEADERS[0], quoting)
        data = read(folder / "a.csv")
        if data is not None:
            chosen(folder, data)
    finally:
        shutil.rmtree(folder)


def test_the_strange_table_is_read_and_so_every_command_is_run():
    agrees(read(pd.DataFrame(STRANGE, columns=HEADERS[0], dtype=object)), STRANGE)
