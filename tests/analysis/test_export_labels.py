"""Labels given back to tools: the exact form of each, what is kept of its tasks, and what is refused."""

import json
from dataclasses import replace
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from tests.analysis.exported import (
    ITEMS,
    LABELS,
    SAYINGS,
    annotated_tasks,
    fit_by_em,
    make_data,
    read_lines,
    region,
    write_to,
)

NAMED = {"to": "label-studio", "question": "topic", "to_name": "text"}


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def fit(data):
    return fit_by_em(data)


@pytest.fixture(scope="module")
def expected(fit):
    """The label and its probability of each item; the known one is sure."""
    table = ba.label_table(fit).set_index("item")
    table.loc["14", ["label", "probability"]] = "klein", 1.0
    return list(table[["label", "probability"]].itertuples(name=None))


# -------------------------------------------------------------------------------------------- the form of each tool


def test_predictions_of_label_studio_name_their_task(fit, expected, tmp_path):
    path = tmp_path / "labels.json"
    written = ba.export_labels(fit, path, to="label-studio", question="topic", to_name="text")
    assert (written.n_items, written.n_known, written.n_unsure, written.n_without_task) == (7, 1, 0, 0)
    assert json.loads(path.read_text(encoding="utf-8")) == [
        {"task": int(item), "model_version": "bayesanno mace", "score": score, "result": [region(label)]}
        for item, label, score in expected
    ]
    assert "größer" in path.read_text(encoding="utf-8")


def test_export_warns_of_an_unknown_gold_label_and_keeps_the_label(data, tmp_path):
    gold = {"11": "groß", "14": "klein", "15": "winzig", "16": "größer"}
    fit = fit_by_em(replace(data, gold=gold, controls={"16": "klein"}))
    path = tmp_path / "labels.json"
    with pytest.warns(
        ba.errors.NamesWarning, match="2 true labels of 4 cannot be exported, such as 'groß' of item '11'"
    ):
        written = ba.export_labels(fit, path, **NAMED)
    assert (written.n_items, written.n_known) == (7, 2)
    label = {one["task"]: one["result"][0]["value"]["choices"] for one in json.loads(path.read_text(encoding="utf-8"))}
    assert [label[task] for task in (11, 14, 15, 16)] == [["größer"], ["klein"], ["klein"], ["klein"]]
    ba.export_labels(fit, path, use_gold=False, **NAMED)  # where none is looked at, none is warned of


def test_tasks_of_label_studio_keep_their_data_and_not_the_answers(fit, expected, tmp_path):
    tasks = write_to(tmp_path / "export.json", annotated_tasks())
    ba.export_labels(fit, tmp_path / "labels.json", to="label-studio", tasks=tasks, agent="we")
    assert json.loads((tmp_path / "labels.json").read_text(encoding="utf-8")) == [
        {
            "id": int(item), "data": {"text": f"Text „{item}“", "n": 1}, "meta": {"source": "x"},
            "predictions": [{"model_version": "we", "score": score, "result": [region(label)]}],
        }
        for item, label, score in expected
    ]  # fmt: skip


def test_tasks_of_label_studio_from_its_flat_export_or_a_table(fit, tmp_path):
    flat = [
        {"text": f"t{item}", "id": int(item), "topic": "klein", "annotator": 1, "annotation_id": 2, "lead_time": 3.5}
        for item in ITEMS
    ]
    named = {"question": "topic", "to_name": "text"}
    ba.export_labels(fit, tmp_path / "flat.json", to="label-studio", tasks=flat, **named)
    first = json.loads((tmp_path / "flat.json").read_text(encoding="utf-8"))[0]
    assert (first["id"], first["data"]) == (11, {"text": "t11"})
    table = pd.DataFrame({"Ticket": ITEMS, "text": [f"t{item}" for item in ITEMS]})
    ba.export_labels(fit, tmp_path / "table.json", to="label-studio", tasks=table, item="Ticket", **named)
    first = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))[0]
    assert (first.keys(), first["data"]) == ({"data", "predictions"}, {"Ticket": "11", "text": "t11"})


@pytest.mark.parametrize(
    ("kind", "labels", "values"),
    [
        ("rating", ("1", "2", "3"), [{"rating": 1}, {"rating": 2}, {"rating": 3}]),
        ("number", ("0.5", "2", "3"), [{"number": 0.5}, {"number": 2}, {"number": 3}]),
        ("taxonomy", ("a/b", "a/c", "d"), [{"taxonomy": [path]} for path in (["a", "b"], ["a", "c"], ["d"])]),
        ("pairwise", ("left", "right", "tie"), [{"selected": label} for label in ("left", "right", "tie")]),
    ],
)
def test_a_control_of_another_kind_gets_its_own_value(data, kind, labels, values, tmp_path):
    said = replace(data, labels=labels, gold={})
    fit = fit_by_em(said)
    result = [{"from_name": "q", "to_name": "text", "type": kind, "value": {}}]
    tasks = annotated_tasks(annotations=[{"completed_by": 1, "result": result}])
    ba.export_labels(fit, tmp_path / "labels.json", to="label-studio", tasks=tasks)
    found = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    (regions,) = zip(*(task["predictions"][0]["result"] for task in found), strict=True)
    assert {each["type"] for each in regions} == {kind}
    codes = [labels.index(label) for label in ba.label_table(fit)["label"]]
    assert [each["value"] for each in regions] == [values[code] for code in codes]


def test_suggestions_of_argilla_have_an_agent_and_a_score(fit, expected, tmp_path):
    records = [
        {
            "id": item, "fields": {"text": f"t{item}"}, "metadata": {"source": "x"}, "vectors": {}, "status": "pending",
            "suggestions": {"other": {"value": "?", "score": None, "agent": "m"}} if item == "13" else {},
            "responses": {"topic": [{"value": "klein", "user_id": "u"}]}, "_server_id": "s",
        }
        for item in ITEMS
    ]  # fmt: skip
    ba.export_labels(
        fit,
        tmp_path / "labels.json",
        to="argilla",
        tasks=write_to(tmp_path / "records.json", records),
        question="topic",
    )
    assert json.loads((tmp_path / "labels.json").read_text(encoding="utf-8")) == [
        {
            "id": item, "fields": {"text": f"t{item}"}, "metadata": {"source": "x"},
            "suggestions": {"topic": {"value": label, "score": score, "agent": "bayesanno mace"}},
            "responses": {},
        }
        for item, label, score in expected
    ]  # fmt: skip


def test_records_of_argilla_may_be_flat_and_its_answers_numbers_or_lists(data, tmp_path):
    fit = fit_by_em(replace(data, labels=("1", "2", "3"), gold={}))
    labels = ba.label_table(fit)["label"]

    def export(response):
        columns = {"id": list(ITEMS), "status": ["completed"] * 7, "text": [f"t{item}" for item in ITEMS]}
        answers = {"q.responses": [[response]] * 7, "q.responses.users": [["u"]] * 7, "q.suggestion.score": [None] * 7}
        tasks = write_to(tmp_path / "columns.json", columns | answers)
        ba.export_labels(fit, tmp_path / "labels.json", to="argilla", tasks=tasks)
        found = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
        assert [record["fields"] for record in found] == [{"text": f"t{item}"} for item in ITEMS]
        return [record["suggestions"]["q"]["value"] for record in found]

    assert export("2") == labels.tolist()
    assert export(2) == labels.astype(int).tolist()
    assert export(["2"]) == [[label] for label in labels]


def test_tasks_of_prodigy_have_their_label_chosen(fit, expected, tmp_path):
    answers = [
        {
            "text": f"t{item}", "meta": {"source": "x"}, "_input_hash": int(item), "_task_hash": 5, "accept": ["klein"],
            "options": [{"id": label, "text": label.upper()} for label in LABELS[:2]] if item == "11" else [],
            "answer": answer, "_timestamp": 1, "_session_id": "d-ana", "_annotator_id": "d-ana", "_view_id": "choice",
        }
        for item in ITEMS
        for answer in ("accept", "ignore")
    ]  # fmt: skip
    (tmp_path / "out.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in answers), encoding="utf-8")
    ba.export_labels(fit, tmp_path / "labels.jsonl", to="prodigy", tasks=tmp_path / "out.jsonl")
    assert read_lines(tmp_path / "labels.jsonl") == [
        {
            "text": f"t{item}", "_input_hash": int(item), "options": [{"id": name, "text": name} for name in LABELS],
            "accept": [label], "score": score, "meta": {"source": "x", "probability": round(score, 3)},
            "answer": "accept", "_view_id": "choice",
            "_annotator_id": "bayesanno mace", "_session_id": "bayesanno mace",
        }
        for item, label, score in expected
    ]  # fmt: skip


def test_options_of_prodigy_are_kept_where_they_have_all_labels(data, tmp_path):
    fit = fit_by_em(replace(data, labels=("1", "2", "3"), gold={}))
    options = [{"id": number, "html": f"<img {number}>"} for number in range(4)]
    tasks = [{"text": "t", "_input_hash": int(item), "options": options} for item in ITEMS]
    ba.export_labels(fit, tmp_path / "labels.jsonl", to="prodigy", tasks=tasks)
    found = read_lines(tmp_path / "labels.jsonl")
    assert all(task["options"] == options for task in found)
    assert [task["accept"] for task in found] == [[int(label)] for label in ba.label_table(fit)["label"]]


def test_texts_of_doccano_have_their_label_and_metadata(fit, expected, tmp_path):
    texts = [{"id": int(item), "text": f"t{item}", "label": [], "Comments": [], "source": "x"} for item in ITEMS]
    ba.export_labels(fit, tmp_path / "labels.jsonl", to="doccano", tasks=write_to(tmp_path / "texts.json", texts))
    assert read_lines(tmp_path / "labels.jsonl") == [
        {
            "id": int(item), "text": f"t{item}", "source": "x", "label": [label], "probability": score,
            "labelled_by": "bayesanno mace",
        }
        for item, label, score in expected
    ]  # fmt: skip


def test_soft_labels_and_their_weight_are_columns_of_the_labels(fit):
    table = ba.label_table(fit)
    probability = table[[f"p[{label}]" for label in LABELS]].to_numpy()
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(probability * np.log(probability), axis=1)
    np.testing.assert_allclose(table["weight"], 1 - entropy / np.log(3), atol=1e-12)


def test_agreement_is_the_share_of_answers_that_are_the_label(fit):
    table = ba.label_table(fit)
    said = [[LABELS[code] for code in row if code is not None] for row in SAYINGS]
    expected = [row.count(label) / len(row) for row, label in zip(said, table["label"], strict=True)]
    np.testing.assert_allclose(table["agreement"], expected)
    assert 0.5 < min(expected) < 1
    unsure = ba.AnnotationData.from_records(
        [("a", "ana", "no"), ("a", "bo", "unsure"), ("b", "bo", "yes"), ("b", "ana", "yes"), ("b", "cy", "yes")],
        unsure="unsure",
        items=["a", "b", "c"],
    )
    np.testing.assert_array_equal(ba.label_table(fit_by_em(unsure))["agreement"], [1, 1, np.nan])


# ------------------------------------------------------------------------------------------- which labels, and round


def test_known_labels_are_sure_unless_they_are_ignored(fit, tmp_path):
    def label(**options):
        written = ba.export_labels(fit, tmp_path / "labels.json", **NAMED, **options)
        found = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
        (one,) = (each for each in found if each["task"] == 14)
        return written.n_known, *one["result"][0]["value"]["choices"], one["score"]

    assert label() == (1, "klein", 1.0)
    n_known, own, score = label(use_gold=False)
    assert (n_known, own, score < 1) == (0, "größer", True)


def test_of_a_recalibrated_fit_the_probabilities_are_recalibrated(fit, tmp_path):
    with pytest.warns(ba.errors.PredictionWarning):
        other = ba.recalibrate(fit, {"11": "klein", "12": "klein", "13": LABELS[2], "15": "größer"})
    named = {"to": "label-studio", "question": "topic", "to_name": "text", "use_gold": False}
    ba.export_labels(other, tmp_path / "labels.json", **named)
    found = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    assert {one["model_version"] for one in found} == {"bayesanno mace recalibrated"}
    assert [one["score"] for one in found] == ba.label_table(other)["probability"].tolist()
    assert ba.label_table(other)["probability"].tolist() != ba.label_table(fit)["probability"].tolist()


def test_items_that_are_less_sure_or_have_no_task_are_left_out(fit, tmp_path):
    probability = ba.label_table(fit).set_index("item")["probability"]
    least = float(probability.drop("14").sort_values().iloc[1])
    tasks = [*annotated_tasks()[:-2], {"id": 99, "data": {"text": "of no item"}}]
    written = ba.export_labels(
        fit, tmp_path / "labels.json", to="label-studio", tasks=tasks, min_probability=least, use_gold=False
    )
    shown = probability.loc[list(ITEMS[:-2])]
    kept = shown[shown >= least].index
    found = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    assert [str(task["id"]) for task in found] == kept.tolist()
    assert (written.n_items, written.n_unsure, written.n_without_task) == (len(kept), 5 - len(kept), 2)
    assert 0 < len(kept) < 5


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # so few draws
def test_of_several_dimensions_one_is_exported_which_is_the_question(multi_fit, tmp_path):
    table = ba.label_table(multi_fit).query("dimension == 'polarity'")
    tasks = [{"id": item, "fields": {"text": item}} for item in table["item"]]
    path = tmp_path / "labels.json"
    ba.export_labels(multi_fit, path, to="argilla", tasks=tasks, dimension="polarity", use_gold=False)
    found = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    assert [record["suggestions"]["polarity"]["value"] for record in found] == table["label"].tolist()


def test_what_is_exported_is_read_again(fit, expected, tmp_path):
    def read(path, **options):
        again = ba.read_annotations(path, **options)
        return {
            (again.items[item], again.annotators[one], again.labels[label])
            for item, one, label in zip(again.item, again.annotator, again.label, strict=True)
        }

    same = {(item, "bayesanno mace", label) for item, label, _ in expected}
    ba.export_labels(fit, tmp_path / "studio.json", to="label-studio", tasks=annotated_tasks())
    assert read(tmp_path / "studio.json", predictions=True) == same
    tasks = [{"_input_hash": int(item), "text": item} for item in ITEMS]
    ba.export_labels(fit, tmp_path / "prodigy.jsonl", to="prodigy", tasks=tasks)
    assert read(tmp_path / "prodigy.jsonl") == same
    records = [{"id": item, "fields": {"text": item}} for item in ITEMS]
    ba.export_labels(fit, tmp_path / "argilla.json", to="argilla", tasks=records, question="topic")
    assert read(tmp_path / "argilla.json", predictions=True) == same
    texts = [{"id": int(item), "text": item} for item in ITEMS]
    ba.export_labels(fit, tmp_path / "bayesanno mace.jsonl", to="doccano", tasks=texts)
    with ZipFile(tmp_path / "doccano.zip", "w") as packed:  # as of a member of this name
        packed.write(tmp_path / "bayesanno mace.jsonl", "bayesanno mace.jsonl")
    assert read(tmp_path / "doccano.zip") == same
    ba.export_labels(fit, tmp_path / "doccano.jsonl", to="doccano", tasks=tmp_path / "doccano.zip")
    assert read_lines(tmp_path / "doccano.jsonl") == read_lines(tmp_path / "bayesanno mace.jsonl")
