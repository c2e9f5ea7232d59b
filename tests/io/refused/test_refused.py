"""What cannot be read is refused in one line, with its place, and commands: the sentences are those of one snapshot.

The cases are in the modules beside this one, and what is said of each is in `refused.txt` alone. After a change of a
sentence, `uv run python -m tests.io.refused.test_refused` writes that file again; read what has changed in it.
"""

import re
import tempfile
from pathlib import Path

import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError
from tests.io.refused.columns import COLUMNS
from tests.io.refused.compared import PAIRS, RANKINGS
from tests.io.refused.tables import ANNOTATORS, COUNTS, DIMENSIONS, ITEMS, KNOWN, LONG, OPTIONS, TABLES

SNAPSHOT = Path(__file__).with_name("refused.txt")


def read_dimensions(path, dimensions=("focus", "polarity"), **options):
    return ba.read_multi_annotations(path, dimensions, **options)


# name of a group: its cases, how they are read, and the option that their file is for where it is beside annotations
GROUPS = {
    "a table": (TABLES, ba.read_annotations, None),
    "an option": (OPTIONS, ba.read_annotations, None),
    "columns": (COLUMNS, ba.read_annotations, None),
    "pairs": (PAIRS, ba.read_annotations, None),
    "rankings": (RANKINGS, ba.read_annotations, None),
    "dimensions": (DIMENSIONS, read_dimensions, None),
    "counts": (COUNTS, ba.read_counts, None),
    "gold": (KNOWN, ba.read_annotations, "gold_file"),
    "controls": (KNOWN, ba.read_annotations, "controls"),
    "items": (ITEMS, ba.read_annotations, "items"),
    "annotators": (ANNOTATORS, ba.read_annotations, "annotators"),
}
CASES = {f"{group}: {name}": (group, name) for group, (cases, *_) in GROUPS.items() for name in cases}


def refuse(which, folder):
    """Return what is said when a case is read from a folder, where paths are only the names of files."""
    group, name = CASES[which]
    cases, reader, beside = GROUPS[group]
    content, options = cases[name]
    raw = content if isinstance(content, bytes) else content.encode()
    path = folder / ("answers.jsonl" if raw.startswith((b"{", b"[")) else "answers.csv")
    if beside:
        options = {**options, beside: folder / "beside.csv"}
        options[beside].write_bytes(raw)
        raw = LONG.encode()
    path.write_bytes(raw)
    with pytest.raises(DataError) as caught:
        reader(path, **options)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.fixture(scope="module")
def sentences():
    found = re.findall(r"^(\S.*)\n((?: {4}.*\n)+)", SNAPSHOT.read_text(encoding="utf-8"), re.MULTILINE)
    return {which: re.sub("^ {4}", "", lines, flags=re.MULTILINE).rstrip("\n") for which, lines in found}


@pytest.mark.parametrize("which", CASES)
def test_what_cannot_be_read_is_refused_as_in_the_snapshot(which, sentences, tmp_path):
    assert refuse(which, tmp_path) == sentences[which]


def test_the_snapshot_has_no_other_cases(sentences):
    assert list(sentences) == list(CASES)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        said = {each: refuse(each, Path(temporary)).replace("\n", "\n    ") for each in CASES}
        lines = [f"{each}\n    {text}\n" for each, text in said.items()]
    SNAPSHOT.write_text("".join(lines), encoding="utf-8")
