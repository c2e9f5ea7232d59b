"""What DATA on the command line becomes for a model of counts, and what is refused; and the command itself."""

import json

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno import CountData, get_model
from bayesanno._core.messages import DataError
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import DataOptions, gather_options
from bayesanno.io.write import write_table
from tests.analysis.made import from_prior
from tests.cli.within import run

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws

LONG = "item,annotator,label\ns1,ada,yes\ns1,bo,no\ns2,ada,no\ns2,bo,no\ns3,cy,yes\n"
COUNTS = "item,successes,trials\ns1,1,2\ns2,0,2\ns3,1,1\n"
HISTOGRAM = "x,n,count\n1,2,1\n0,2,1\n1,1,1\n"
NAMED = "word,yes,asked,x\ns1,1,2,7\ns2,0,2,8\ns3,1,1,9\n"
LONG_WITH_COUNTS = (
    "item,annotator,label,x,n\ns1,ada,yes,0,9\ns1,bo,no,0,9\ns2,ada,no,0,9\ns2,bo,no,0,9\ns3,cy,yes,0,9\n"
)


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
        (LONG_WITH_COUNTS, None, "'yes' (taken as positive; --positive takes another)"),
        (COUNTS, None, "positive"),
        (HISTOGRAM, None, "positive"),
        ("item,label,successes,trials\ns1,easy,1,2\ns2,hard,0,2\ns3,easy,1,1\n", None, "positive"),  # of nobody
    ],
    ids=["long", "long, with counts", "counts", "histogram", "counts, with a label"],
)
def test_every_shape_becomes_counts(read, text, positive, what):
    data, described = read(text, positive=positive)
    assert isinstance(data, CountData)
    assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0, 1], [2, 2, 1])
    assert described == f"5 answers to 3 items, 2 of them {what}"


def test_columns_of_counts_are_named_by_options(read, refuses):
    data, _ = read(NAMED, successes="yes", trials="asked", item="word")
    assert (data.successes.tolist(), data.trials.tolist()) == ([1, 0, 1], [2, 2, 1])
    assert data.items == ("s1", "s2", "s3")
    with refuses(DataError, "--successes and --trials name counts: leave out --label"):
        read(NAMED, successes="yes", trials="asked", label=("x",))


def test_named_data_are_counted_and_described():
    mixture = get_model("binomial_mixture")
    data, described = read_for(mixture, "@table14", DataOptions())
    assert (data.n_items, int(data.trials.sum())) == (10_000, 30_000)
    assert described.startswith("30,000 answers to 10,000 items, ")
    assert read_for(mixture, "@table9", gather_options(positive="2"))[0].successes.sum() == 8898


def test_a_fit_of_counts_writes_its_files(tmp_path, monkeypatch):
    made = CountData(items=[f"s{n}" for n in range(9)], successes=[0, 1, 1, 2, 6, 7, 8, 8, 8], trials=[8] * 9)
    write_table(made.to_frame(), tmp_path / "x.csv")
    monkeypatch.setattr(ba, "fit", lambda model, data, **_: from_prior(model, data))
    code, _, err = run(tmp_path, "fit", "binomial_mixture", "x.csv", "--no-adjust", "--out", "run")
    assert code == 0
    assert err.startswith("binomial_mixture: 72 answers to 9 items, 41 of them positive\n")
    labels = pd.read_csv(tmp_path / "run" / "labels.csv")
    assert labels.columns.tolist() == ["item", "p[type 1]", "p[type 2]", "successes", "trials", "hard"]
    described = json.loads((tmp_path / "run" / "run.json").read_text())
    assert described["data"] == {"items": 9, "trials": 72, "successes": 41, "hash": made.hash}
    assert described["files"] == ["posterior.nc", "labels.csv", "summary.csv", "run.json"]
    assert "accuracy" not in described
