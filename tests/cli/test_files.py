"""The files of a run: what is read of a fit for them is read once."""

import os
import time
from pathlib import Path

import bayesanno as ba
from bayesanno.cli.files import write_fit
from bayesanno.fits import storage, view


def test_a_fit_is_read_once_for_all_of_its_files(tiny_fit, tmp_path, monkeypatch):
    asked = []

    def count(name):
        original = getattr(storage, name)
        for module in (storage, view):
            monkeypatch.setattr(module, name, lambda fit: asked.append(name) or original(fit))

    for name in ("data_of", "diagnostics_of"):
        count(name)
    write_fit(tiny_fit, tmp_path, coverage=0.9, began=0.0)
    assert sorted(asked) == ["data_of", "diagnostics_of"]


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
