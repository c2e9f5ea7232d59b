"""Commands read the exports of tools as they read tables, and say in one line what is wrong with one."""

import json

import pytest

from bayesanno._core.errors import DataError
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import gather_options
from bayesanno.modeling.registry import get_model


def result(question, kind, value):
    return {"from_name": question, "to_name": "text", "type": kind, "value": {kind: value}}


def task(number, *moods):
    annotations = [
        {"completed_by": by, "result": [result("mood", "choices", [mood]), result("stars", "rating", number)]}
        for by, mood in enumerate(moods, 1)
    ]
    predictions = [{"model_version": "bert", "result": [result("mood", "choices", ["good"])]}]
    return {"id": number, "data": {"key": f"k{number}"}, "annotations": annotations, "predictions": predictions}


@pytest.fixture
def project(tmp_path):
    """An export of Label Studio with two questions."""
    path = tmp_path / "project.json"
    path.write_text(json.dumps([task(1, "good", "bad"), task(2, "good", "good"), task(3, "bad", "bad")]))
    return path


def test_agreement_of_one_question(command, project):
    code, out, err = command("agreement", project, "--question", "mood", "--out", "run", "--no-plots", "--resamples", 0)
    assert code == 0, err
    assert "6 annotations of 3 items by 2 annotators; labels bad, good" in err
    assert "percent_agreement" in out


@pytest.mark.parametrize("model", ["mace", "binomial_mixture", "model_a_multi"])
def test_models_of_every_kind_of_data(project, model):
    label = ["mood", "stars"] if model == "model_a_multi" else ["mood"]
    options = gather_options(label=label, format="label-studio", item="data.key", labels=None)
    data, described = read_for(get_model(model), str(project), options)
    assert data.items == ("k1", "k2", "k3")
    assert "3 items" in described


def test_predictions_are_annotators(project):
    data, _ = read_for(get_model("mace"), str(project), gather_options(label="mood", predictions=True))
    assert data.annotators == ("1", "2", "bert")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"label": None}, "there are 2 questions, 'mood', 'stars': choose one, as in label='mood'"),
        ({"label": "mod"}, "there is no question 'mod': .*did you mean 'mood'"),
        ({"drop_rejected": True}, "drop_rejected=... does not apply to it"),
        ({"format": "toloka"}, "does not have the form that format='toloka' reads, .*: it looks like label-studio"),
        ({"format": "long"}, "and format='long' reads tables"),
        ({"item": "data.id"}, r"\[0\]\.data: there is no field 'data.id' among 'data.key'"),
    ],
)
def test_what_is_wrong_is_one_line(project, refuses, given, match):
    with refuses(DataError, rf"project\.json.*{match}"):
        read_for(get_model("mace"), str(project), gather_options(**{"label": "mood", **given}))


def test_counts_of_an_export_are_refused(project, refuses):
    with refuses(DataError, "--successes and --trials name counts"):
        read_for(get_model("binomial_mixture"), str(project), gather_options(label="mood", successes="x"))
