"""Several dimensions on the command line: simulated, fitted, read off the fit; and what is refused."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno import MultiAnnotationData, read_multi_annotations
from bayesanno._core.errors import DataError, FitError
from bayesanno.models.model_a_multi import ModelAMulti
from tests.cli.within import run

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws

LONG = """item,annotator,focus,polarity,note,gold_polarity
s1,bo,method,+,easy,+
s1,ada,method,-,,+
s2,ada,,+,,
s2,cy,result,,,
s3,cy,,,,-
"""


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
    return read_multi_annotations(fitted.folder / "a.csv", ["focus", "polarity"])


def read(path):
    return pd.read_csv(path, dtype={"gold": str}, keep_default_na=False, na_values={"p_none": []})


def test_a_simulation_is_written_with_gold_and_with_the_correlation(fitted, data):
    assert fitted.simulated == (0, "a.csv\na.json\n", "")
    header = (fitted.folder / "a.csv").read_text().splitlines()[0]
    assert header == "item,annotator,focus,polarity,gold_focus,gold_polarity"
    for part in data.by_dimension.values():
        assert part.labels == ("no", "yes")
        assert set(np.bincount(part.item)) == {2, 3}
        assert 0 < len(part.gold) < 40  # unknown where nobody said the truth
    made_by = json.loads((fitted.folder / "a.json").read_text())
    assert (made_by["model"], made_by["seed"]) == ("model_a_multi", 8)
    assert {"accuracy", "direction", "correlation", "frequency_focus", "frequency_polarity"} == set(
        made_by["parameters"]
    )
    correlation = made_by["parameters"]["correlation"]
    assert correlation["coords"] == {"dimension_pair": ["focus, polarity"]}
    assert correlation["values"][0] * made_by["parameters"]["direction"]["values"][0] > 0


def test_the_tables_of_a_fit_have_a_part_for_each_dimension(fitted, data):
    code, out, err = fitted.done
    assert code == 0, err
    files = ["posterior.nc", "labels.csv", "annotators.csv", "summary.csv", "run.json"]
    assert out.splitlines()[-6:] == [f"run/{name}" for name in [*files, "report.html"]]
    report = (fitted.folder / "run" / "report.html").read_text(encoding="utf-8")
    assert "<h3>focus</h3>" in report
    assert "<h3>polarity</h3>" in report
    first, *others = err.splitlines()
    n = data.n_annotations
    assert first == f"model_a_multi: {n} annotations of 40 items by 4 annotators in 2 dimensions, focus, polarity"
    assert all(line.startswith("warning") for line in others)

    labels = read(fitted.folder / "run" / "labels.csv")
    assert labels.columns.tolist() == [
        "dimension", "item", "label", "probability", "entropy", "n_annotations", "p[no]", "p[yes]", "weight",
        "agreement", "p_none", "gold", "kept",
    ]  # fmt: skip
    assert labels["dimension"].tolist() == ["focus"] * 40 + ["polarity"] * 40
    assert labels["item"].tolist() == [*data.items, *data.items]
    for dimension, rows in labels.groupby("dimension"):
        part = data.by_dimension[dimension]
        assert rows["n_annotations"].tolist() == np.bincount(part.item).tolist()
        assert rows["gold"].tolist() == [part.gold.get(item, "") for item in data.items]
        assert rows["kept"].sum() == 20
    np.testing.assert_allclose(labels["p[no]"] + labels["p[yes]"], 1, rtol=1e-6)  # as written: six digits

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
        "gold": {name: len(part.gold) for name, part in data.by_dimension.items()},
    }  # fmt: skip


def test_declared_labels_of_the_command_reach_the_data(tmp_path, monkeypatch):
    seen = []

    def started(_, data, **__):
        seen.append(data)
        raise FitError("that will do")

    monkeypatch.setattr(ba, "fit", started)
    (tmp_path / "a.csv").write_text(LONG)
    options = "--label focus --label polarity --labels focus=result,method,other --labels polarity=-,0,+"
    code, _, err = run(tmp_path, "fit", "model_a_multi", "a.csv", *options.split(), "--out", "run")
    assert code == 1
    first = "model_a_multi: 6 annotations of 3 items by 3 annotators in 2 dimensions, focus, polarity"
    assert err.splitlines() == [first, "error: that will do"]
    focus, polarity = seen[0].by_dimension.values()
    assert (focus.labels, polarity.labels) == (("result", "method", "other"), ("-", "0", "+"))


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


@pytest.mark.filterwarnings("ignore:mode:bayesanno.ConvergenceWarning")
def test_what_is_read_off_is_of_one_dimension_at_a_time(loaded, data, refuses):
    labels = ba.label_table(loaded).set_index(["dimension", "item"])
    correct = ba.analysis.correctness_table(loaded, ["i1", "i2"], dimension="polarity")
    assert correct.groupby("item")["probability"].sum().tolist() == pytest.approx([1, 1])
    none_said = correct[correct["label"] == "(none of these)"].set_index("item")["probability"]
    own = loaded["latent"]["polarity"]["probability"].sel(item="i2").values  # of the model, not adjusted
    assert none_said["i2"] == pytest.approx(own[-1], rel=1e-12)

    chosen = ba.decide_labels(loaded, {"no": {"no": 0, "yes": 1}, "yes": {"no": 3, "yes": 0}}, dimension="polarity")
    expected = 3 * labels.loc["polarity", "p[yes]"].to_numpy()
    np.testing.assert_allclose(chosen["cost[no]"], expected, rtol=1e-12)
    assert chosen["item"].tolist() == list(data.items)

    draws = loaded["posterior"]["accuracy"].sel(dimension="focus").values.reshape(-1, 4)
    better = ba.compare_annotators(loaded, dimension="focus").iloc[0, 1]
    assert better == pytest.approx((draws[:, 0] > draws[:, 1]).mean())

    for read_off in (
        lambda **dimension: ba.analysis.correctness_table(loaded, **dimension),
        lambda **dimension: ba.decide_labels(loaded, {}, **dimension),
        lambda **dimension: ba.compare_annotators(loaded, **dimension),
    ):
        with refuses(FitError, "this fit has dimensions focus, polarity: name one"):
            read_off()
        with refuses(FitError, "this fit has dimensions focus, polarity, and none 'evidence'"):
            read_off(dimension="evidence")
    with refuses(
        FitError, "drawn together, since their joint posterior does not factor: name one of 'focus', 'polarity'"
    ):
        ba.sample_labels(loaded)
    with refuses(DataError, "is of MultiAnnotationData: predict from MultiAnnotationData, not from AnnotationData"):
        ba.predict_labels(loaded, data.by_dimension["focus"])


COLUMNS = "--label focus --label polarity"
NOT_FITTED = {
    "no label column": ("model_a_multi a.csv", "several dimensions need several label columns"),
    "one label column": ("model_a_multi a.csv --label focus", "several dimensions need several label columns"),
    "one twice": ("model_a_multi a.csv --label focus --label focus", "appears twice in 'focus', 'focus'"),
    "no such column": ("model_a_multi a.csv --label focus --label tone", "dimension 'tone': .*no column 'tone'"),
    "no such file": (f"model_a_multi b.csv {COLUMNS}", "^error: there is no file 'b.csv'"),
    "two for one": (f"model_a a.csv {COLUMNS}", "model_a reads one label column, not 2: name one, or use model_a_mul"),
    "two for counts": (f"binomial_mixture a.csv {COLUMNS}", "binomial_mixture reads one label column, not 2"),
    "gold": (f"model_a_multi a.csv {COLUMNS} --gold gold_polarity", "no answer may be unsure: leave out --gold"),
    "gold file": (f"model_a_multi a.csv {COLUMNS} --gold-file a.csv", "leave out --gold-file"),
    "controls": (f"model_a_multi a.csv {COLUMNS} --controls a.csv", "leave out --controls"),
    "labels": (f"model_a_multi a.csv {COLUMNS} --labels +,-",
               r"--labels \+,-: write NAME=A,B,... for each label column, as in --labels tone=no,yes"),
    "labels of none": (f"model_a_multi a.csv {COLUMNS} --labels =a,b", "labels are given for '', which is not"),
    "labels twice": (f"model_a_multi a.csv {COLUMNS} --labels focus=a,b --labels focus=c",
                     r"--labels focus=\.\.\. is given twice: leave out one"),
    "labels of another": (f"model_a_multi a.csv {COLUMNS} --labels focs=a,b",
                          "labels are given for 'focs', which is not a dimension: .*did you mean 'focus'"),
    "an empty label": (f"model_a_multi a.csv {COLUMNS} --labels focus=a,,b", "focus=.*: name 2 of .* is empty"),
    "labels left out": (f"model_a_multi a.csv {COLUMNS} --labels polarity=+,0",
                        "dimension 'polarity': .*, line 3: label '-' .* is not among the declared labels, '\\+', '0'"),
    "one label of a dimension": ("model_a_multi a.csv --label focus --label note",
                                 r"only one label, 'easy': .* --labels note=A,B,"),
    "successes": (f"model_a_multi a.csv {COLUMNS} --successes focus", "leave out --successes"),
    "positive": (
        f"model_a_multi a.csv {COLUMNS} --positive +",
        "leave out --positive",
    ),
    "wide": (f"model_a_multi a.csv {COLUMNS} --format wide", "reads a long table or an export: leave out --format"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", NOT_FITTED)
def test_an_impossible_fit_is_one_line_and_nothing_is_written(tmp_path, monkeypatch, wrong):
    def started(*_, **__):
        raise AssertionError("a fit was started, where the request should have been refused")

    monkeypatch.setattr(ba, "fit", started)
    (tmp_path / "a.csv").write_text(LONG)
    arguments, match = NOT_FITTED[wrong]
    code, out, err = run(tmp_path, "fit", *arguments.split(), "--out", "run")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert re.search(match, err), err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


NOT_SIMULATED = {
    "one dimension": ("--dimensions focus", "needs at least two dimensions, not 1"),
    "a dimension twice": ("--dimensions a,b,a", "a dimension is named twice among 'a', 'b', 'a'"),
    "no name": ("--dimensions focus,", "a dimension has an empty name"),
    "the name of a column": ("--dimensions focus,item", "dimension 'item' has the name of a column"),
}


@pytest.mark.parametrize("wrong", NOT_SIMULATED)
def test_impossible_dimensions_are_refused_and_nothing_is_written(tmp_path, wrong):
    arguments, match = NOT_SIMULATED[wrong]
    code, out, err = run(tmp_path, "simulate", "model_a_multi", *arguments.split(), "--items", 5, "--out", "a.csv")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert re.search(match, err), err
    assert not list(tmp_path.iterdir())
