"""What is exported is taken by the tools' own packages, where these are installed; nothing is sent over a network.

They are not among the dependencies of development:

    uv run --isolated --with-requirements .ci/tools.txt pytest -m extras tests/analysis
"""

import json

import pytest

import bayesanno as ba

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("default")]  # warnings of other packages are not ours

LABELS = ("billing", "delivery", "other", "quality")


@pytest.fixture(scope="module")
def fit():
    return ba.fit("mace", ba.read_annotations("@crowd"), method="em", random_seed=1, progressbar=False)


@pytest.fixture
def tasks(fit):
    return [{"id": item, "data": {"text": f"Ticket „{item}“"}} for item in ba.label_table(fit)["item"]]


def test_label_studio_takes_the_predictions(fit, tasks, tmp_path):
    interface = pytest.importorskip("label_studio_sdk.label_interface")
    choices = "".join(f'<Choice value="{label}"/>' for label in LABELS)
    project = interface.LabelInterface(
        f'<View><Text name="text" value="$text"/><Choices name="topic" toName="text">{choices}</Choices></View>'
    )
    named = {"to": "label-studio", "question": "topic", "to_name": "text", "tasks": tasks}
    ba.export_labels(fit, tmp_path / "labels.json", **named)
    found = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    assert len(found) == 300
    for task in found:
        assert project.validate_task({"data": task["data"]})
        assert [project.validate_prediction(one, return_errors=True) for one in task["predictions"]] == [[]]
    (prediction,) = found[0]["predictions"]
    prediction["result"][0]["from_name"] = "tone"  # the check can fail
    assert project.validate_prediction(prediction, return_errors=True)


def test_argilla_takes_the_records(fit, tasks, tmp_path):
    pytest.importorskip("argilla")
    from argilla.records._io import JsonIO

    records = [{"id": task["id"], "fields": task["data"]} for task in tasks]
    ba.export_labels(fit, tmp_path / "labels.json", to="argilla", question="topic", tasks=records, use_gold=False)
    found = JsonIO._records_from_json(tmp_path / "labels.json")  # which `dataset.records.from_json` sends
    table = ba.label_table(fit)
    assert [record.id for record in found] == table["item"].tolist()
    assert [record.fields["text"] for record in found] == [task["data"]["text"] for task in tasks]
    suggested = [record.suggestions["topic"] for record in found]
    assert [one.value for one in suggested] == table["label"].tolist()
    assert [one.score for one in suggested] == pytest.approx(table["probability"].tolist())
    assert {one.agent for one in suggested} == {"bayesanno mace"}
