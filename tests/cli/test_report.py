"""`bayesanno report`: the page of a fit that a run has written; and what has none."""

import json

import pytest

import bayesanno as ba

LONG = "item,annotator,label\ns1,ada,yes\ns1,bo,no\ns2,ada,no\ns2,cy,no\n"


@pytest.fixture
def run(tiny_fit, tmp_path):
    (tmp_path / "run").mkdir()
    ba.save(tiny_fit, tmp_path / "run" / "posterior.nc")
    return tmp_path / "run"


def test_the_page_goes_beside_the_fit_or_where_it_is_asked_for(command, run):
    (run / "report.html").write_text("an old one")
    code, out, _ = command("report", "run", "--no-checks")
    assert (code, out) == (0, "run/report.html\n")
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "bayesanno report does this" in page
    code, out, _ = command("report", "run", "--no-checks", "--out", "page.html")
    assert (code, out) == (0, "page.html\n")
    assert (run.parent / "page.html").read_text(encoding="utf-8") == page
    code, _, err = command("report", "run", "--no-checks", "--out", "page.html")
    assert code == 1
    assert err == "error: page.html exists: choose another --out, or --overwrite\n"


def test_a_fit_can_do_without(command, tiny_fit, tmp_path, monkeypatch):
    (tmp_path / "answers.csv").write_text(LONG)
    monkeypatch.setattr(ba, "fit", lambda *_, **__: tiny_fit)
    code, out, _ = command("fit", "model_b", "answers.csv", "--out", "run", "--no-report")
    assert code == 0
    assert "report" not in out
    assert not (tmp_path / "run" / "report.html").exists()


def newer(fit):
    fit.attrs["versions"] = json.dumps(json.loads(fit.attrs["versions"]) | {"bayesanno": "99.1"})


def without_annotators(fit):
    fit["constant_data"] = fit["constant_data"].to_dataset().drop_vars("annotation_annotator")


def without_posterior(fit):
    del fit["posterior"]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (newer, "error: run/posterior.nc was written by bayesanno 99.1, but this is "),
        (without_annotators, "error: the data of this fit are incomplete: No variable named 'annotation_annotator'"),
        (without_posterior, "error: this is not a fit by bayesanno: it lacks posterior"),
    ],
)
def test_what_is_no_whole_fit_has_no_page(command, run, tiny_fit, change, match):
    fit = tiny_fit.copy()
    change(fit)
    ba.save(fit, run / "posterior.nc", overwrite=True)
    code, out, err = command("report", "run")
    assert (code, out) == (1, "")
    assert err.startswith(match)
    assert err.count("\n") == 1
    assert [path.name for path in run.iterdir()] == ["posterior.nc"]


@pytest.mark.parametrize("folder", ["nothing", "empty"])
def test_a_folder_without_a_fit_has_no_page(command, tmp_path, folder):
    (tmp_path / "empty").mkdir()
    code, out, err = command("report", folder)
    assert (code, out) == (1, "")
    assert err.startswith("error: there is no fit at ")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
    assert list((tmp_path / "empty").iterdir()) == []
