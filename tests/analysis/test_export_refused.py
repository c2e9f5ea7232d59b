"""What cannot be exported: one line that says why, and nothing is written."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, DataFileError, FitError
from tests.analysis.exported import ITEMS, annotated_tasks, fit_by_em, make_data, region, write_to


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def fit(data):
    return fit_by_em(data)


NAMED = {"to": "label-studio", "question": "topic", "to_name": "text"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "labelstudio"}, "did you mean 'label-studio'"),
        ({"to": "label-studio", "question": "q"}, "two names from the labeling interface"),
        ({"to": "label-studio", "tasks": "two"}, "annotated with 'topic', 'tone': choose one"),
        ({"to": "label-studio", "tasks": "one", "question": "topics"}, "did you mean 'topic'"),
        ({"to": "argilla"}, r"with tasks=\.\.\."),
        ({"to": "prodigy", "tasks": "one"}, "has nothing that prodigy can show"),
        ({"to": "argilla", "tasks": "one"}, "argilla needs one question"),
        ({"to": "doccano", "tasks": "one", "question": "q"}, r"question=\.\.\. does not apply to doccano"),
        ({"to": "cleanlab"}, "exported to 'cleanlab': .* has soft labels"),
        ({**NAMED, "item": "id"}, r"item=\.\.\. names a field of tasks"),
        ({**NAMED, "tasks": "other"}, "has none of the items of this fit"),
        ({**NAMED, "tasks": "one", "item": "ident"}, "there is no field 'ident'"),
        ({**NAMED, "tasks": "nameless"}, "has no field for the item"),
        ({**NAMED, "tasks": "empty"}, "is JSON without records"),
        ({**NAMED, "tasks": "broken"}, "broken.json, line 2: this is not JSON"),
        ({**NAMED, "tasks": "list"}, r"list.json, \[0\]: this is no object"),
        ({**NAMED, "tasks": "void"}, r"void.json, \[1\]: id is missing"),
        ({**NAMED, "min_probability": float("nan")}, "min_probability is nan"),
        ({**NAMED, "min_probability": 1.0, "use_gold": False}, "no label is as probable as 1.0"),
    ],
)
def test_what_cannot_be_exported_is_one_line_and_nothing_is_written(fit, tmp_path, refuses, options, message):
    two = annotated_tasks()
    two[2]["annotations"][0]["result"].append(region("x", from_name="tone"))
    files = {
        "one": annotated_tasks(), "two": two, "other": [{"id": 99, "name": "t"}], "list": [1],
        "nameless": [{"data": {}}], "empty": [], "void": [{"id": 11, "data": {}}, {"id": None, "data": {}}],
    }  # fmt: skip
    folder = tmp_path / "tasks"
    folder.mkdir()
    for name, content in files.items():
        write_to(folder / f"{name}.json", content)
    (folder / "broken.json").write_text('[{"id": 11},\n{"id": }]')
    if "tasks" in options:
        options = options | {"tasks": folder / f"{options['tasks']}.json"}
    with refuses(DataError, message):
        ba.export_labels(fit, tmp_path / "labels.csv", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["tasks"]


def test_items_that_are_no_ids_and_labels_that_are_no_ratings_are_refused(data, fit, tmp_path, refuses):
    named = fit_by_em(replace(data, items=tuple("abcdefg"), gold={}))
    with refuses(DataError, r"item 'a' is not a task id of Label Studio, .* give tasks=\.\.\."):
        ba.export_labels(named, tmp_path / "x.json", **NAMED)
    each = fit_by_em(replace(data, items=tuple(f"{item} / tea" for item in ITEMS), gold={}))
    with refuses(DataError, "'11 / tea' combines a task and one of its labels, .* label-studio takes one label per"):
        ba.export_labels(each, tmp_path / "x.json", to="label-studio", tasks=annotated_tasks())
    rating = [{"completed_by": 1, "result": [{**region("3"), "type": "rating"}]}]
    with refuses(DataError, "label 'größer' is not a number, but the control of these tasks takes numbers"):
        ba.export_labels(fit, tmp_path / "x.json", to="label-studio", tasks=annotated_tasks(annotations=rating))
    records = [{"id": item, "fields": {}, "responses": {"q": [{"value": 1}]}} for item in ITEMS]
    with refuses(DataError, "label 'größer' is not a whole number, but the question of these records takes ratings"):
        ba.export_labels(fit, tmp_path / "x.json", to="argilla", tasks=records)
    assert not list(tmp_path.iterdir())


def test_a_fit_without_labels_is_refused(count_fit, tmp_path, refuses):
    with refuses(FitError, "binomial_mixture gives item types"):
        ba.export_labels(count_fit, tmp_path / "labels.json", **NAMED)


def test_a_path_that_cannot_be_written_is_refused(fit, tmp_path, refuses, monkeypatch):
    with refuses(DataFileError, "there is no folder .*no to write labels.csv into"):
        ba.export_labels(fit, tmp_path / "no" / "labels.csv", **NAMED)

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with refuses(DataFileError, "labels.json' cannot be written: No space left on device"):
        ba.export_labels(fit, tmp_path / "labels.json", **NAMED)
    assert list(tmp_path.iterdir()) == []
