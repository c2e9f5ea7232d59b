"""The files of a run: what is read of a fit for them is read once."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.cli.files import describe_data, write_fit
from bayesanno.fits import storage, view
from bayesanno.io.write import write_table
from bayesanno.modeling.data_adapters import DATA_ADAPTERS, Data


@pytest.mark.parametrize("as_view", [False, True])
def test_a_fit_is_read_once_for_all_of_its_files(tiny_fit, tmp_path, monkeypatch, as_view):
    asked = []

    def count(name):
        original = getattr(storage, name)
        for module in (storage, view):
            monkeypatch.setattr(module, name, lambda fit: asked.append(name) or original(fit))

    for name in ("data_of", "diagnostics_of"):
        count(name)
    write_fit(view.view_of(tiny_fit) if as_view else tiny_fit, tmp_path, coverage=0.9, began=0.0)
    assert sorted(asked) == ["data_of", "diagnostics_of"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "annotators.csv", "labels.csv", "posterior.nc", "run.json", "summary.csv",
    ]  # fmt: skip


def test_every_kind_of_data_is_described_and_written(tmp_path):
    annotations = ba.AnnotationData.from_records([("s1", "ada", "no"), ("s1", "bo", "yes"), ("s2", "bo", "no")])
    counts = ba.CountData(items=("a", "b"), successes=np.array([1, 3]), trials=np.array([4, 4]))
    several = ba.MultiAnnotationData(by_dimension={"focus": annotations, "tone": annotations})
    of_annotations = {"items": 2, "annotators": 2, "labels": 2, "annotations": 3, "label_names": ["no", "yes"]}
    of_annotations |= {"gold": 0}
    expected = [
        (annotations, of_annotations),
        (counts, {"items": 2, "trials": 8, "successes": 4}),
        (several, of_annotations | {
            "labels": {"focus": 2, "tone": 2}, "annotations": 6,
            "label_names": {"focus": ["no", "yes"], "tone": ["no", "yes"]},
            "gold": {"focus": 0, "tone": 0},
        }),
    ]  # fmt: skip
    assert {type(data) for data, _ in expected} == set(DATA_ADAPTERS) == set(storage.READERS) == set(Data.__args__)
    for number, (data, described) in enumerate(expected):
        assert json.loads(json.dumps(describe_data(data))) == described
        write_table(data.to_frame(), tmp_path / f"{number}.csv")
        assert (tmp_path / f"{number}.csv").read_text().count("\n") > data.n_items


def test_files_of_text_are_the_same_on_every_system(tiny_fit, tmp_path, monkeypatch):
    written = {}
    write_text = Path.write_text

    def write_as_windows(self, text, encoding=None, errors=None, newline=None):
        return write_text(self, text, encoding, errors, "\r\n" if newline is None else newline)

    for system in ("this", "other"):
        folder = tmp_path / system
        folder.mkdir()
        write_fit(tiny_fit, folder, began=time.perf_counter())
        ba.write_report(tiny_fit, folder / "report.html", checks=False, random_seed=1)
        texts = [{"item": item, "text": "x"} for item in ba.label_table(tiny_fit)["item"]]
        ba.export_labels(tiny_fit, folder / "tasks.json", to="label-studio", question="q", to_name="text", tasks=texts)
        files = [path for path in folder.rglob("*") if path.suffix in (".csv", ".html", ".json")]
        written[system] = {path.name: path.read_bytes() for path in files}
        monkeypatch.setattr(os, "linesep", "\r\n")
        monkeypatch.setattr(Path, "write_text", write_as_windows)
    assert len(written["this"]) >= 6
    for name, text in written["other"].items():
        assert b"\r" not in text, name
        assert text == written["this"][name] or name == "run.json", name  # which has how long it took
