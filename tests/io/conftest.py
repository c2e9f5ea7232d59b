"""Exports as their tools write them, by hand, and tables of text."""

import json

import pytest

from bayesanno.io.read import read_annotations

pytest.register_assert_rewrite("tests.io.cases")


@pytest.fixture
def keep(tmp_path):
    """Write an export and give its path: text or bytes as they are, a list as JSON, records as JSONL."""

    def write(content, name="export.json", *, lines=False):
        path = tmp_path / name
        if lines:
            content = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in content)
        elif not isinstance(content, str | bytes):
            content = json.dumps(content, ensure_ascii=False)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def said():
    """Read an export and give its answers as triples of names, in order."""

    def read(source, **options):
        data = read_annotations(source, **options)
        names = zip(data.item, data.annotator, data.label, strict=True)
        return data, [(data.items[i], data.annotators[j], data.labels[k]) for i, j, k in names]

    return read


@pytest.fixture
def read(keep):
    """Write a table as it is and read it."""
    return lambda text, **options: read_annotations(keep(text, "answers.csv"), **options)
