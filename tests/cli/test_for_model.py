"""What DATA on the command line becomes for a model of counts, and what is refused; and the command itself."""

import json

import pandas as pd
import pytest

from bayesanno import CountData, get_model, read_counts, simulate
from bayesanno._core.errors import DataError
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import DataOptions, gather_options
from bayesanno.io import sources
from bayesanno.io.write import write_table
from bayesanno.simulation.designs import make_count_design
from tests.cli.within import run

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws

LONG = "item,annotator,label\ns1,ada,yes\ns1,bo,no\ns2,ada,no\ns2,bo,no\ns3,cy,yes\n"
WIDE = "item,rater1,rater2,rater3\ns1,yes,no,\ns2,no,no,\ns3,,,yes\n"
THREE = "item,annotator,label\ns1,ada,yes\ns1,bo,no\ns2,ada,perhaps\n"
COUNTS = "item,successes,trials\ns1,1,2\ns2,0,2\ns3,1,1\n"
HISTOGRAM = "x,n,count\n1,2,1\n0,2,1\n1,1,1\n"
LABEL_OF_NOBODY = "item,label,successes,trials\ns1,easy,1,2\ns2,hard,0,2\ns3,easy,1,1\n"  # and so of something else
NAMED = "word,yes,asked,x\ns1,1,2,7\ns2,0,2,8\ns3,1,1,9\n"
LONG_WITH_COUNTS = (
    "item,annotator,label,x,n\ns1,ada,yes,0,9\ns1,bo,no,0,9\ns2,ada,no,0,9\ns2,bo,no,0,9\ns3,cy,yes,0,9\n"
)
LAST = "'yes' (taken as positive; --positive takes another)"


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
        (LONG, None, LAST),
        (LONG_WITH_COUNTS, None, LAST),
        (WIDE, "yes", "'yes'"),
        (COUNTS, None, "positive"),
        (HISTOGRAM, None, "positive"),
        (LABEL_OF_NOBODY, None, "positive"),
    ],
    ids=["long", "long, last of two", "long, with counts", "wide", "counts", "histogram", "counts, with a label"],
)
def test_every_shape_becomes_counts(read, text, positive, what):
    data, described = read(text, positive=positive)
    assert isinstance(data, CountData)
    assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0, 1], [2, 2, 1])
    assert described == f"5 answers to 3 items, 2 of them {what}"


def test_one_label_of_three_is_counted_against_the_others(read):
    data, _ = read(THREE, positive="no")
    assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0], [2, 1])


def test_labels_that_are_declared_count_as_labels(read):
    assert read(LONG, labels=["yes, no"])[1].startswith("5 answers to 3 items, 3 of them 'no' (taken as positive")


def test_columns_of_counts_are_named_by_options(read, refuses):
    data, _ = read(NAMED, successes="yes", trials="asked", item="word")
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


def test_a_table_of_counts_is_parsed_once(read, monkeypatch):
    parsed = []
    real = sources.table_from_text
    monkeypatch.setattr(sources, "table_from_text", lambda *given, **more: parsed.append(given) or real(*given, **more))
    for text in (COUNTS, LONG):
        assert read(text)[0].n_items == 3
    assert len(parsed) == 2


PROJECT = [
    {
        "id": number,
        "data": {"key": f"k{number}"},
        "annotations": [
            {"completed_by": by, "result": [
                {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [mood]}},
                {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": number}},
            ]}
            for by, mood in enumerate(moods, 1)
        ],
    }
    for number, moods in {1: ("good", "bad"), 2: ("good", "good"), 3: ("bad", "bad")}.items()
]  # fmt: skip


@pytest.mark.parametrize("model", ["mace", "binomial_mixture", "model_a_multi"])
def test_exports_of_tools_are_read_for_models_of_every_kind_of_data(tmp_path, refuses, model):
    path = tmp_path / "project.json"
    path.write_text(json.dumps(PROJECT))
    label = ["mood", "stars"] if model == "model_a_multi" else ["mood"]
    data, described = read_for(get_model(model), str(path), gather_options(label=label, item="data.key"))
    assert data.items == ("k1", "k2", "k3")
    assert "3 items" in described
    if model != "model_a_multi":
        with refuses(DataError, r"project\.json.*there are 2 questions, 'mood', 'stars': choose one"):
            read_for(get_model(model), str(path), gather_options())


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


@pytest.mark.parametrize("model", ["mace", "binomial_mixture", "easy_hard"])
@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["no"], "label 'yes' of item 's1' is not among the declared labels, 'no'"),
        (["no,yes,no"], r"data\.csv: labels: 'no' appears twice"),
        (["label=no,yes"], "'label=no', 'yes'|label 'no' "),
    ],
)
def test_labels_that_are_wrongly_declared_are_refused(read, refuses, model, labels, match):
    with refuses(DataError, match):
        read(LONG, model=model, labels=labels)


def test_a_fit_of_counts_writes_its_files(tmp_path):
    made, _ = simulate("binomial_mixture", make_count_design(items=60, per_item=8, random_seed=1), random_seed=1)
    write_table(made.to_frame(), tmp_path / "x.csv")
    short = ["--draws", 50, "--tune", 100, "--chains", 2, "--seed", 1]
    code, _, err = run(tmp_path, "fit", "binomial_mixture", "x.csv", "--out", "run", *short)
    assert code == 0, err
    total, positive = int(made.trials.sum()), int(made.successes.sum())
    first = err.splitlines()[0]
    assert first == f"binomial_mixture: {total:,} answers to 60 items, {positive:,} of them positive"
    labels = pd.read_csv(tmp_path / "run" / "labels.csv")
    assert labels.columns.tolist() == ["item", "p[type 1]", "p[type 2]", "successes", "trials", "hard"]
    described = json.loads((tmp_path / "run" / "run.json").read_text())
    assert described["data"] == {"items": 60, "trials": total, "successes": positive, "hash": made.hash}
    assert described["files"] == ["posterior.nc", "labels.csv", "summary.csv", "run.json"]
    assert "accuracy" not in described
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "<h2>What are the types of the items?</h2>" in report
    assert "<h2>Who are the annotators?</h2>" not in report
