"""Several dimensions from a table to a table: what is read, written, fitted by the command and read off the fit."""

import contextlib
import io
import json
import re
import sys
import warnings
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno import AnnotationData, MultiAnnotationData, read_dimensions, write_dimensions
from bayesanno.cli import app as cli
from bayesanno.ground.errors import DataError, DataFileError, FitError
from bayesanno.models.model_a_multi import ModelAMulti

LONG = """item,annotator,focus,polarity,note,gold_polarity
s1,bo,method,+,easy,+
s1,ada,method,-,,+
s2,ada,,+,,
s2,cy,result,,,
s3,cy,,,nothing said,-
"""


def triples(data):
    """Who said what of which item."""
    return sorted(map(tuple, data.to_frame()[["item", "annotator", "label"]].to_numpy()))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "fragments.csv"
    path.write_text(LONG)
    return path


# ------------------------------------------------------------------------------------------------- reading


def test_each_label_column_is_a_dimension_and_an_empty_cell_no_annotation(table):
    data = read_dimensions(table, ["focus", "polarity"])
    assert data.dimensions == ("focus", "polarity")
    assert data.items == ("s1", "s2", "s3")
    assert data.annotators == ("bo", "ada", "cy")
    focus, polarity = data.by_dimension.values()
    assert (focus.labels, polarity.labels) == (("method", "result"), ("+", "-"))
    assert triples(focus) == [("s1", "ada", "method"), ("s1", "bo", "method"), ("s2", "cy", "result")]
    assert triples(polarity) == [("s1", "ada", "-"), ("s1", "bo", "+"), ("s2", "ada", "+")]
    assert read_dimensions(table, ["polarity", "focus"]).dimensions == ("polarity", "focus")


def test_a_gold_column_is_of_the_dimension_in_its_name(table):
    focus, polarity = read_dimensions(table, ["focus", "polarity"]).by_dimension.values()
    assert focus.gold == {}
    assert polarity.gold == {"s1": "+", "s3": "-"}
    frame = pd.DataFrame({"item": ["1", "1"], "annotator": ["a", "b"], "x": ["u", "v"], "y": ["v", "u"], "gold": "v"})
    assert [part.gold for part in read_dimensions(frame, ["x", "y"]).by_dimension.values()] == [{}, {}]


def test_columns_have_other_names_if_it_is_said_which(tmp_path):
    path = tmp_path / "fragments.csv"
    path.write_text("who;what;x;y\na;1;u;p\nb;1;v;q\n")
    data = read_dimensions(path, ["x", "y"], item="what", annotator="who")
    assert (data.items, data.annotators) == (("1",), ("a", "b"))
    assert triples(data.by_dimension["y"]) == [("1", "a", "p"), ("1", "b", "q")]


REFUSED = {
    "no column": ([], "several dimensions need several label columns"),
    "one column": (["focus"], "several dimensions need several label columns"),
    "one column twice": (["focus", "polarity", "focus"], "named twice among 'focus', 'polarity', 'focus'"),
    "missing column": (["focus", "polarty"], "dimension 'polarty': .*no column 'polarty'.*did you mean 'polarity'"),
    "one label": (["focus", "note"], "dimension 'note': .*"),
    "another role": (["focus", "annotator"], "dimension 'annotator': .*annotator"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_cannot_be_read_is_refused_with_the_name_of_the_dimension(refuses, tmp_path, wrong):
    columns, match = REFUSED[wrong]
    path = tmp_path / "fragments.csv"
    path.write_text(LONG.replace(",nothing said,", ",,"))
    with refuses(DataError, match):
        read_dimensions(path, columns)


def test_a_missing_file_is_no_matter_of_a_dimension(refuses):
    with refuses(DataFileError, "^there is no file 'nowhere.csv'"):
        read_dimensions("nowhere.csv", ["x", "y"])


# ------------------------------------------------------------------------------------------------- writing


def test_what_was_written_is_read_back(tmp_path):
    """An item that nobody answers, an annotator who answers nothing, empty cells, names that must be quoted."""
    shared = {"items": ("s1", "of, s2", "s3", "s4"), "annotators": ("bo", 'a "d" a', "cy", "mute")}
    focus = AnnotationData(
        item=[0, 1, 1, 2], annotator=[0, 1, 0, 2], label=[1, 0, 1, 1], labels=("a;b", "c"), gold={"s4": "c"}, **shared
    )
    polarity = AnnotationData(item=[2, 0, 1], annotator=[2, 2, 1], label=[0, 1, 1], labels=("+", "-"), **shared)
    data = MultiAnnotationData(by_dimension={"focus": focus, "polarity": polarity})
    for name in ("fragments.csv", "fragments.tsv"):
        write_dimensions(data, tmp_path / name)
        again = read_dimensions(tmp_path / name, data.dimensions)
        assert again.items == data.items
        assert sorted(again.annotators) == sorted(data.annotators)
        for dimension, part in data.by_dimension.items():
            assert triples(again.by_dimension[dimension]) == triples(part)
            assert again.by_dimension[dimension].labels == part.labels
            assert again.by_dimension[dimension].gold == part.gold
    header, *rows = (tmp_path / "fragments.tsv").read_text().splitlines()
    assert header.split("\t") == ["item", "annotator", "focus", "polarity", "gold_focus"]
    assert len(rows) == 5 + 2  # who answered which item in any dimension, then the silent ones


def test_a_table_item_by_item_is_read_back_in_its_own_order(table, tmp_path):
    """Annotators are not in alphabetical order, and a hash is over orders too."""
    data = read_dimensions(table, ["focus", "polarity"])
    write_dimensions(data, tmp_path / "again.csv")
    assert read_dimensions(tmp_path / "again.csv", ["focus", "polarity"]).hash == data.hash


def named(*dimensions, gold=None, **changes):
    fields = {"item": [0, 0], "annotator": [0, 1], "label": [0, 1], "items": ("s1",), "annotators": ("ada", "bo")}
    one = AnnotationData(**(fields | {"labels": ("no", "yes"), "gold": gold or {}} | changes))
    return MultiAnnotationData(by_dimension=dict.fromkeys(dimensions, one))


NOT_WRITTEN = {
    "an answer twice": (named("x", "y", annotator=[0, 0]), "annotator 'ada' answered item 's1' twice in dimension 'x'"),
    "named item": (named("x", "Item"), "dimension 'Item' has the name of a column with another meaning"),
    "named annotator": (named("annotator", "y"), "dimension 'annotator' has the name of a column"),
    "named gold": (named("x", "gold_x"), "dimension 'gold_x' has the name of a column"),
    "dimension": (named("x", " y"), "dimension ' y' would not read back the same"),
    "item": (named("x", "y", items=("s1 ",)), "item 's1 ' would not read back the same"),
    "gold label": (named("x", "y", gold={"s1": "no "}), "gold label 'no ' would not read back the same"),
}


@pytest.mark.parametrize("wrong", NOT_WRITTEN)
def test_what_would_not_read_back_is_refused_and_not_written(refuses, tmp_path, wrong):
    data, match = NOT_WRITTEN[wrong]
    with refuses(DataError, match):
        write_dimensions(data, tmp_path / "fragments.csv")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_to_is_refused(refuses, tmp_path):
    with refuses(DataFileError, r"fragments\.csv' cannot be written"):
        write_dimensions(named("x", "y"), tmp_path / "nowhere" / "fragments.csv")
    with refuses(DataError, "would not be Parquet but text"):
        write_dimensions(named("x", "y"), tmp_path / "fragments.parquet")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------- the command line


def run(folder, *arguments):
    """The command in this process: its exit code, stdout and stderr. Warnings are shown, as they are to users."""
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["bayesanno", *map(str, arguments)]),
    ):
        warnings.simplefilter("always")
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Simulated by the command, then fitted by the command, in a folder; and what it printed."""
    folder = tmp_path_factory.mktemp("dimensions")
    design = ["--items", 40, "--annotators", 4, "--per-item", "2-3", "--labels", "no,yes"]
    simulated = run(
        folder, "simulate", "model_a_multi", "--dimensions", "focus,polarity", *design, "--seed", 8, "--out", "a.csv"
    )
    columns = ["--label", "focus", "--label", "polarity"]
    settings = ["--draws", 40, "--tune", 60, "--chains", 2, "--seed", 1]
    done = run(folder, "fit", "model_a_multi", "a.csv", *columns, *settings, "--coverage", 0.5, "--out", "run")
    return SimpleNamespace(folder=folder, simulated=simulated, done=done)


@pytest.fixture(scope="module")
def data(fitted):
    return read_dimensions(fitted.folder / "a.csv", ["focus", "polarity"])


def read(path):
    return pd.read_csv(path, dtype={"gold": str}, keep_default_na=False, na_values={"p_none_said": []})


def test_a_simulation_is_written_with_gold_and_with_the_correlation(fitted, data):
    assert fitted.simulated == (0, "a.csv\na.json\n", "")
    header = (fitted.folder / "a.csv").read_text().splitlines()[0]
    assert header == "item,annotator,focus,polarity,gold_focus,gold_polarity"
    for part in data.by_dimension.values():
        assert part.labels == ("no", "yes")
        assert set(np.bincount(part.item)) == {2, 3}
        assert 0 < len(part.gold) < 40  # unknown where nobody said the truth
    story = json.loads((fitted.folder / "a.json").read_text())
    assert (story["model"], story["seed"]) == ("model_a_multi", 8)
    assert {"accuracy", "direction", "correlation", "frequency_focus", "frequency_polarity"} == set(story["parameters"])
    correlation = story["parameters"]["correlation"]
    assert correlation["coords"] == {"dimension_pair": ["focus, polarity"]}
    assert correlation["values"][0] * story["parameters"]["direction"]["values"][0] > 0


def test_the_tables_of_a_fit_have_a_part_for_each_dimension(fitted, data):
    code, out, err = fitted.done
    assert code == 0, err
    files = ["posterior.nc", "labels.csv", "annotators.csv", "summary.csv", "run.json"]
    assert out.splitlines()[-5:] == [f"run/{name}" for name in files]
    first, *others = err.splitlines()
    n = data.n_annotations
    assert first == f"model_a_multi: {n} annotations of 40 items by 4 annotators in 2 dimensions, focus, polarity"
    assert all(line.startswith("warning: ") for line in others)

    labels = read(fitted.folder / "run" / "labels.csv")
    assert labels.columns.tolist() == [
        "dimension", "item", "label", "probability", "entropy", "n_annotations", "p[no]", "p[yes]", "p_none_said",
        "gold", "kept",
    ]  # fmt: skip
    assert labels["dimension"].tolist() == ["focus"] * 40 + ["polarity"] * 40
    assert labels["item"].tolist() == [*data.items, *data.items]
    for dimension, rows in labels.groupby("dimension"):
        part = data.by_dimension[dimension]
        assert rows["n_annotations"].tolist() == np.bincount(part.item).tolist()
        assert rows["gold"].tolist() == [part.gold.get(item, "") for item in data.items]
        assert rows["kept"].sum() == 20
    np.testing.assert_allclose(labels["p[no]"] + labels["p[yes]"], 1, rtol=1e-9)

    annotators = read(fitted.folder / "run" / "annotators.csv")
    assert annotators.columns[:3].tolist() == ["dimension", "annotator", "n_annotations"]
    assert annotators["annotator"].tolist() == [*data.annotators, *data.annotators]
    assert annotators["dimension"].tolist() == ["focus"] * 4 + ["polarity"] * 4
    summary = read(fitted.folder / "run" / "summary.csv").set_index("parameter")
    own = [f"accuracy[{row.annotator}, {row.dimension}]" for row in annotators.itertuples()]
    np.testing.assert_allclose(summary.loc[own, "mean"], annotators["competence_mean"])
    assert "correlation[focus, polarity]" in summary.index


def test_run_json_says_what_the_data_were(fitted, data):
    described = json.loads((fitted.folder / "run" / "run.json").read_text())
    assert described["data"] == {
        "items": 40, "annotators": 4, "labels": {"focus": 2, "polarity": 2}, "annotations": data.n_annotations,
        "label_names": {"focus": ["no", "yes"], "polarity": ["no", "yes"]}, "hash": data.hash,
    }  # fmt: skip


@pytest.fixture(scope="module")
def loaded(fitted):
    return ba.load(fitted.folder / "run")


def test_a_stored_fit_gives_back_its_data_and_its_model(loaded, data, tmp_path):
    ba.save(loaded, tmp_path / "fit.nc")
    again = ba.load(tmp_path / "fit.nc")
    for fit in (loaded, again):
        found = ba.data_of(fit)
        assert isinstance(found, MultiAnnotationData)
        assert found.hash == data.hash == fit.attrs["data_hash"]
        assert [part.gold for part in found.by_dimension.values()] == [p.gold for p in data.by_dimension.values()]
        assert ba.model_of(fit) == ModelAMulti()
    assert data.by_dimension["focus"].gold != data.by_dimension["polarity"].gold


def test_what_is_read_off_is_of_one_dimension_at_a_time(loaded, data, refuses):
    labels = ba.label_table(loaded).set_index(["dimension", "item"])
    correct = ba.correctness_table(loaded, ["i1", "i2"], dimension="polarity")
    assert correct.groupby("item")["probability"].sum().tolist() == pytest.approx([1, 1])
    none_said = correct[correct["label"] == "(none of those said)"].set_index("item")["probability"]
    assert none_said["i2"] == pytest.approx(labels.loc[("polarity", "i2"), "p_none_said"], rel=1e-12)

    chosen = ba.decide_labels(loaded, {"no": {"no": 0, "yes": 1}, "yes": {"no": 3, "yes": 0}}, dimension="polarity")
    expected = 3 * labels.loc["polarity", "p[yes]"].to_numpy()
    np.testing.assert_allclose(chosen["cost[no]"], expected, rtol=1e-12)
    assert chosen["item"].tolist() == list(data.items)

    draws = loaded["posterior"]["accuracy"].sel(dimension="focus").values.reshape(-1, 4)
    better = ba.compare_annotators(loaded, dimension="focus").iloc[0, 1]
    assert better == pytest.approx((draws[:, 0] > draws[:, 1]).mean())

    for read_off in (
        lambda **dimension: ba.correctness_table(loaded, **dimension),
        lambda **dimension: ba.decide_labels(loaded, {}, **dimension),
        lambda **dimension: ba.compare_annotators(loaded, **dimension),
    ):
        with refuses(FitError, "this fit has dimensions focus, polarity, and dimension is None"):
            read_off()
        with refuses(FitError, "this fit has dimensions focus, polarity, and dimension is 'evidence'"):
            read_off(dimension="evidence")
    with refuses(FitError, "drawn together, since .* not the product .*: name one of 'focus', 'polarity'"):
        ba.sample_labels(loaded)
    with refuses(DataError, "is of MultiAnnotationData: predict from MultiAnnotationData, not from AnnotationData"):
        ba.predict_labels(loaded, data.by_dimension["focus"])


COLUMNS = "--label focus --label polarity"
NOT_FITTED = {
    "no label column": ("model_a_multi a.csv", "several dimensions need several label columns"),
    "one label column": ("model_a_multi a.csv --label focus", "several dimensions need several label columns"),
    "one twice": ("model_a_multi a.csv --label focus --label focus", "named twice among 'focus', 'focus'"),
    "no such column": ("model_a_multi a.csv --label focus --label tone", "dimension 'tone': .*no column 'tone'"),
    "no such file": (f"model_a_multi b.csv {COLUMNS}", "^error: there is no file 'b.csv'"),
    "two for one": (f"model_a a.csv {COLUMNS}", "model_a is of one label column, not 2: name one, or take model_a_mul"),
    "two for counts": (f"binomial_mixture a.csv {COLUMNS}", "binomial_mixture is of one label column, not 2"),
    "gold": (f"model_a_multi a.csv {COLUMNS} --gold gold_polarity", "--gold is for one label column"),
    "gold file": (f"model_a_multi a.csv {COLUMNS} --gold-file a.csv", "--gold-file is for one label column"),
    "controls": (f"model_a_multi a.csv {COLUMNS} --controls a.csv", "--controls is for one label column"),
    "labels": (f"model_a_multi a.csv {COLUMNS} --labels +,-", "--labels is for one label column"),
    "positive": (
        f"model_a_multi a.csv {COLUMNS} --positive +",
        "--positive is for models of counts or of two labels: model_a_multi",
    ),
    "wide": (f"model_a_multi a.csv {COLUMNS} --format wide", "model_a_multi reads a long table"),
}


@pytest.mark.parametrize("wrong", NOT_FITTED)
def test_what_cannot_be_fitted_is_refused_in_one_line_and_nothing_is_written(tmp_path, monkeypatch, wrong):
    def started(*_, **__):
        raise AssertionError("a fit was started, where the request should have been refused")

    monkeypatch.setattr(cli, "_fit", started)
    (tmp_path / "a.csv").write_text(LONG)
    arguments, match = NOT_FITTED[wrong]
    code, out, err = run(tmp_path, "fit", *arguments.split(), "--out", "run")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert re.search(match, err), err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


NOT_SIMULATED = {
    "one dimension": ("--dimensions focus", "several dimensions are needed, not 1"),
    "a dimension twice": ("--dimensions a,b,a", "a dimension is named twice among 'a', 'b', 'a'"),
    "no name": ("--dimensions focus,", "a dimension has no name"),
    "the name of a column": ("--dimensions focus,item", "dimension 'item' has the name of a column"),
}


@pytest.mark.parametrize("wrong", NOT_SIMULATED)
def test_dimensions_that_cannot_be_simulated_are_refused_and_nothing_is_written(tmp_path, wrong):
    arguments, match = NOT_SIMULATED[wrong]
    code, out, err = run(tmp_path, "simulate", "model_a_multi", *arguments.split(), "--items", 5, "--out", "a.csv")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert re.search(match, err), err
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------- the story


def test_simulated_dimensions_are_correlated_as_the_truth_says():
    """In a Cox law the correlation of being right in one dimension and in another is rho itself."""
    design, theta = ba.make_loop_design(items=2000, annotators=4, labels=3), 0.6
    given = {"accuracy": np.full((4, 2), theta), "direction": [5.0]}  # next to the wall
    both = MultiAnnotationData(by_dimension={"focus": design, "polarity": design})
    data, truth = ba.simulate("model_a_multi", both, parameters=given, random_seed=3)
    score = [
        np.array(
            [part.gold.get(part.items[i]) == part.labels[said] for i, said in zip(part.item, part.label, strict=True)]
        )
        for part in data.by_dimension.values()
    ]
    products = np.prod([(right - theta) / np.sqrt(theta * (1 - theta)) for right in score], axis=0)
    per_item = products.reshape(-1, 3).mean(axis=1)  # annotators of an item are not independent
    error = per_item.std() / np.sqrt(per_item.size)
    rho = float(truth["correlation"][0])
    assert abs(per_item.mean() - rho) < 4 * error
    assert abs(rho) > 10 * error
