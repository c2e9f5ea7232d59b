"""The README's commands, in order: they print and write what it shows, up to Monte Carlo error."""

import io
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

import bayesanno as ba
from tests.cli.within import run

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (?:.*&& )?uv run (bayesanno .+)$", TEXT, re.MULTILINE)
PRINTED = re.findall(r"^    ((?:mace:|accuracy|agreement|max R-hat|the answers) .*)$", TEXT, re.MULTILINE)


def shown(start):
    """The table that begins so, without its margin."""
    return re.search(rf"^    {re.escape(start)}.*\n(?:    .*\n)+", TEXT, re.MULTILINE)[0].replace("    ", "", 1)


def without_numbers(text):
    return re.sub(r"[\d.,]+", "#", text)


def groups_of(lines):
    table = pd.read_csv(io.StringIO(lines), sep=r"\s+")
    return table.set_index(["group", "source"]).sort_index()


@pytest.mark.notebooks
def test_commands_print_and_write_what_is_shown(monkeypatch, tmp_path):
    monkeypatch.setitem(ba.fit.__wrapped__.__kwdefaults__, "draws", 400)
    out = ""
    for command in COMMANDS:
        _, *seeded = shlex.split(command) + ([] if "--seed" in command else ["--seed", "1"])
        out += "\n".join(run(tmp_path, *seeded)[1:])
    for line in PRINTED:
        assert without_numbers(line) in without_numbers(out), line
    for file, start in (("labels", "item,label"), ("annotators", "annotator,n_annotations")):
        expected = pd.read_csv(io.StringIO(shown(start)), skipinitialspace=True)
        written = pd.read_csv(tmp_path / "answers" / f"{file}.csv")
        found = written[expected.columns].head(len(expected))
        pd.testing.assert_frame_equal(found, expected, atol=0.03, rtol=0, check_dtype=False)
    expected = groups_of(shown("group source"))
    found = groups_of(re.search(r"group source.*\n(?: .*\n)+", out)[0])
    shown_of = found.loc[expected.index, expected.columns]
    pd.testing.assert_frame_equal(shown_of, expected, atol=0.05, rtol=0, check_dtype=False)
