"""What DATA on the command line becomes for a model of counts, and what is refused; and the command itself."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from bayesanno import CountData, get_model, load, read_counts
from bayesanno._core.errors import DataError
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import DataOptions, gather_options
from bayesanno.io import sources
from bayesanno.io.write import write_table
from tests.cli.within import run

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws

LONG = "item,annotator,label\ns1,ada,yes\ns1,bo,no\ns2,ada,no\ns2,bo,no\ns3,cy,yes\n"
WIDE = "item,rater1,rater2,rater3\ns1,yes,no,\ns2,no,no,\ns3,,,yes\n"
THREE = "item,annotator,label\ns1,ada,yes\ns1,bo,no\ns2,ada,perhaps\n"
COUNTS = "item,successes,trials\ns1,1,2\ns2,0,2\ns3,1,1\n"
HISTOGRAM = "x,n,count\n1,2,1\n0,2,1\n1,1,1\n"


@pytest.fixture
def read(tmp_path):
    def from_text(text, model="binomial_mixture", positive=None, labels=(), **options):
        path = tmp_path / "data.csv"
        path.write_text(text)
        return read_for(get_model(model), str(path), gather_options(labels=labels, positive=positive, **options))

    return from_text


@pytest.mark.parametrize(
    ("text", "positive", "what"),
    [
        (LONG, "yes", "'yes'"),
        (LONG, None, "'yes' (taken as positive; --positive takes another)"),
        (WIDE, "yes", "'yes'"),
        (COUNTS, None, "positive"),
        (HISTOGRAM, None, "positive"),
    ],
    ids=["long", "long, last of two", "wide", "counts", "histogram"],
)
def test_every_shape_becomes_counts(read, text, positive, what):
    data, described = read(text, positive=positive)
    assert isinstance(data, CountData)
    assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0, 1], [2, 2, 1])
    assert described == f"5 answers to 3 items, 2 of them {what}"


def test_one_label_of_three_is_counted_against_the_others(read, refuses):
    data, _ = read(THREE, positive="no")
    assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0], [2, 1])
    with refuses(DataError, "there are 3 labels, 'no', 'perhaps', 'yes': say with --positive which of them to count"):
        read(THREE)
    with refuses(DataError, "positive label 'never' is not among the labels 'no', 'perhaps', 'yes'"):
        read(THREE, positive="never")


def test_labels_that_are_declared_count_as_labels(read):
    assert read(LONG, labels=["yes, no"])[1].startswith("5 answers to 3 items, 3 of them 'no' (taken as positive")


@pytest.mark.parametrize("option", ["gold", "gold_file", "controls"])
def test_an_option_that_counts_have_no_use_for_is_refused(read, refuses, option):
    with refuses(
        DataError,
        f"binomial_mixture reads counts, without true labels or items: leave out --{option.replace('_', '-')}",
    ):
        read(LONG, **{option: "x"})


BOTH = "item,label,successes,trials\ns1,easy,1,2\ns2,hard,0,2\ns3,easy,1,1\n"
NAMED = "word,yes,asked,x\ns1,1,2,7\ns2,0,2,8\ns3,1,1,9\n"
LONG_WITH_COUNTS = (
    "item,annotator,label,x,n\ns1,ada,yes,0,9\ns1,bo,no,0,9\ns2,ada,no,0,9\ns2,bo,no,0,9\ns3,cy,yes,0,9\n"
)


def test_counts_beside_a_label_that_nobody_gave_are_counts(read):
    """Annotations have an annotator; where there is none, a column called label is one that says something else."""
    data, described = read(BOTH)
    assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0, 1], [2, 2, 1])
    assert described == "5 answers to 3 items, 2 of them positive"


def test_annotations_beside_columns_of_counts_are_annotations(read):
    data, described = read(LONG_WITH_COUNTS)
    assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0, 1], [2, 2, 1])
    assert described.startswith("5 answers to 3 items, 2 of them 'yes' (taken as positive")


def test_columns_of_counts_are_named_by_options(read, refuses):
    for columns in ({"successes": "yes", "trials": "asked"}, {"successes": "yes", "trials": "asked", "item": "word"}):
        data, _ = read(NAMED, **columns)
        assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0, 1], [2, 2, 1])
    assert data.items == ("s1", "s2", "s3")
    data, _ = read(LONG_WITH_COUNTS.replace("item", "what"), successes="x", trials="n")
    assert (data.successes.tolist(), data.trials.tolist()) == ([0] * 5, [9] * 5)
    with refuses(DataError, r"no column for the trials: .*name it with trials=\.\.\."):
        read(NAMED, successes="yes")
    with refuses(DataError, "'x' and 'positives' could each be the successes: choose one with successes="):
        read("item,x,positives,n\ns1,1,2,3\n")
    with refuses(DataError, "--successes and --trials name counts: leave out --label"):
        read(NAMED, successes="yes", trials="asked", label=("x",))
    for option in ("successes", "trials"):
        with refuses(DataError, f"mace reads annotations of one label column: leave out --{option}"):
            read(LONG, model="mace", **{option: "x"})


def test_a_table_of_counts_is_parsed_once(read, monkeypatch):
    parsed = []
    real = sources.table_from_text
    monkeypatch.setattr(sources, "table_from_text", lambda *given, **more: parsed.append(given) or real(*given, **more))
    for text in (COUNTS, LONG):
        assert read(text)[0].n_items == 3
    assert len(parsed) == 2


def test_named_data_are_counted_and_described(refuses):
    mixture = get_model("binomial_mixture")
    data, described = read_for(mixture, "@table14", DataOptions())
    assert (data.n_items, int(data.trials.sum())) == (10_000, 30_000)
    assert described.startswith("30,000 answers to 10,000 items, ")
    assert read_for(mixture, "@table9", DataOptions(positive="2"))[0].successes.sum() == 8898
    with refuses(DataError, "@table14 has no column for the successes"):
        read_counts("@table14")
    with refuses(DataError, "no data set '@tabel14': .*did you mean '@table14'"):
        read_counts("@tabel14")


LABELS = {
    "twice": (["no", "yes"], "--labels is given 2 times for one label column: give one list, --labels A,B,..."),
    "nothing": ([""], "--labels: name 1 of '' is empty: fill it in or leave it out"),
    "a comma too many": (["no,,yes"], "--labels: name 2 of 'no', '', 'yes' is empty"),
    "one": (["no"], "label 'yes' of item 's1' is not among the declared labels, 'no'"),
    "the same twice": (["no,yes,no"], r"data\.csv: labels: 'no' appears twice"),
    "another": (["no,yess"], "label 'yes' .* not among the declared labels, 'no', 'yess'; did you mean 'yess'"),
    "of a dimension": (
        ["label=no,yes"],
        "label 'yes' .* is not among the declared labels, 'label=no', 'yes'|label 'no' ",
    ),
}


@pytest.mark.parametrize("model", ["mace", "binomial_mixture", "easy_hard"])
@pytest.mark.parametrize("wrong", LABELS)
def test_labels_that_are_wrongly_declared_are_refused(read, refuses, model, wrong):
    labels, match = LABELS[wrong]
    with refuses(DataError, match):
        read(LONG, model=model, labels=labels)


def test_a_positive_label_needs_something_to_count(read, refuses):
    with refuses(DataError, "mace takes every label as it is: leave out --positive"):
        read(LONG, model="mace", positive="yes")
    with refuses(DataError, "has counts already: leave out --positive"):
        read(COUNTS, positive="yes")


def test_a_model_of_annotations_reads_them_as_before(read):
    data, described = read(LONG, model="mace")
    assert data.labels == ("no", "yes")
    assert described == "5 annotations of 3 items by 3 annotators; labels no, yes"


def test_counts_are_written_as_they_are_read(tmp_path):
    data = CountData(items=("a,1", 'say "b"', "c"), successes=[1, 0, 3], trials=[2, 0, 3])
    for name in ("counts.csv", "counts.tsv"):
        write_table(data.to_frame(), tmp_path / name)
        assert read_counts(tmp_path / name).hash == data.hash


# ------------------------------------------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    rates = ("--set", "rate_prior=3:20")  # far apart
    made = run(
        folder, "simulate", "binomial_mixture", "--items", 200, "--per-item", 8, "--out", "x.csv", "--seed", 1, *rates
    )
    assert made == (0, "x.csv\nx.json\n", "")
    return folder


def test_simulated_counts_and_what_made_them(simulated):
    table = pd.read_csv(simulated / "x.csv")
    assert table.columns.tolist() == ["item", "successes", "trials"]
    assert (table["trials"] == 8).all()
    assert len(table) == 200
    made_by = json.loads((simulated / "x.json").read_text())
    assert (made_by["model"], made_by["seed"], made_by["fields"]["rate_prior"]) == ("binomial_mixture", 1, [3, 20])
    assert set(made_by["parameters"]) == {"weight", "rate", "state"}
    assert set(made_by["parameters"]["state"]["values"]) == {"type 1", "type 2"}


def test_a_fit_of_counts_writes_its_files(simulated):
    short = ["--draws", 200, "--tune", 300, "--chains", 2]
    code, _, err = run(simulated, "fit", "binomial_mixture", "x.csv", "--out", "run", "--seed", 1, *short)
    assert code == 0, err
    files = ["posterior.nc", "labels.csv", "summary.csv", "run.json"]
    assert sorted(path.name for path in (simulated / "run").iterdir()) == sorted([*files, "report.html"])
    data = read_counts(simulated / "x.csv")
    total, positive = int(data.trials.sum()), int(data.successes.sum())
    first = err.splitlines()[0]
    assert first == f"binomial_mixture: {total:,} answers to 200 items, {positive:,} of them positive"

    report = (simulated / "run" / "report.html").read_text(encoding="utf-8")
    assert "<h2>What are the types of the items?</h2>" in report
    assert "<h2>Who are the annotators?</h2>" not in report

    labels = pd.read_csv(simulated / "run" / "labels.csv")
    assert labels.columns.tolist() == ["item", "p[type 1]", "p[type 2]", "successes", "trials", "hard"]
    six_digits = 1e-6  # two numbers, each rounded by at most half a unit of the sixth digit
    np.testing.assert_allclose(labels["p[type 1]"] + labels["p[type 2]"], 1, rtol=0, atol=six_digits)
    summary = pd.read_csv(simulated / "run" / "summary.csv").set_index("parameter")
    assert set(summary.index) == {f"{name}[type {t}]" for name in ("weight", "rate") for t in (1, 2)}
    assert summary.loc["rate[type 1]", "mean"] < summary.loc["rate[type 2]", "mean"]
    made_by = json.loads((simulated / "x.json").read_text())["parameters"]
    for name in ("weight", "rate"):
        rows = summary.loc[[f"{name}[type 1]", f"{name}[type 2]"]]
        assert (np.abs(rows["mean"] - made_by[name]["values"]) < 4 * rows["sd"]).all()

    described = json.loads((simulated / "run" / "run.json").read_text())
    assert described["data"] == {"items": 200, "trials": total, "successes": positive, "hash": data.hash}
    assert described["files"] == files
    assert "accuracy" not in described
    assert load(simulated / "run").attrs["model"] == "binomial_mixture"


@pytest.mark.parametrize(
    ("text", "options", "error"),
    [
        (THREE, [], "there are 3 labels"),
        (LONG, ["--positive", "yes", "--set", "types=4"], "4 types are asked for, .* only 3 different shares"),
        ("item,successes,trials\na,3,2\n", [], "3 successes in 2 trials"),
        ("item,successes,trials\na,0,0\n", [], "no item has a trial"),
        (LONG, ["--set", "types=0"], "types is 0"),
    ],
    ids=["three labels", "four types", "more successes than trials", "no trial", "no type"],
)
def test_counts_that_cannot_be_are_one_line(tmp_path, text, options, error):
    (tmp_path / "data.csv").write_text(text)
    code, _, err = run(tmp_path, "fit", "binomial_mixture", "data.csv", "--out", "run", *options)
    assert code == 1
    last = err.splitlines()[-1]
    assert last.startswith("error: ")

    assert re.search(error, last)
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
