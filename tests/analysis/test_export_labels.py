"""Labels given back to tools: the exact form of each, what is kept of its tasks, and that they are read again."""

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
def in_numbers(data):
    """A fit whose labels are 1, 2 and 3."""
    return fit_by_em(replace(data, labels=("1", "2", "3"), gold={}))


@pytest.fixture(scope="module")
def expected(fit):
    """The label and its probability of each item; the known one is sure."""
    table = ba.label_table(fit).set_index("item")
    table.loc["14", ["label", "probability"]] = "klein", 1.0
    return list(table[["label", "probability"]].itertuples(name=None))


@pytest.fixture
def export(tmp_path):
    """Export and return what the file holds; `export.said` is what was returned of it."""

    def export(fit, **options):
        path = tmp_path / ("labels.jsonl" if options["to"] in ("prodigy", "doccano") else "labels.json")
        export.said = ba.export_labels(fit, path, **options)
        return read_lines(path) if path.suffix == ".jsonl" else json.loads(path.read_text(encoding="utf-8"))

    return export


def test_predictions_of_label_studio_name_their_task(fit, expected, export, tmp_path):
    assert export(fit, **NAMED) == [
        {"task": int(item), "model_version": "bayesanno mace", "score": score, "result": [region(label)]}
        for item, label, score in expected
    ]
    said = export.said
    assert (said.n_items, said.n_known, said.n_unsure, said.n_without_task) == (7, 1, 0, 0)
    assert "größer" in (tmp_path / "labels.json").read_text(encoding="utf-8")


def test_export_warns_of_an_unknown_gold_label_and_keeps_the_label(data, export):
    gold = {"11": "groß", "14": "klein", "15": "winzig", "16": "größer"}
    fit = fit_by_em(replace(data, gold=gold, controls={"16": "klein"}))
    with pytest.warns(ba.errors.NamesWarning, match="2 true labels of 4 cannot be exported, .* 'groß' of item '11'"):
        found = export(fit, **NAMED)
    assert (export.said.n_items, export.said.n_known) == (7, 2)
    label = {one["task"]: one["result"][0]["value"]["choices"] for one in found}
    assert [label[task] for task in (11, 14, 15, 16)] == [["größer"], ["klein"], ["klein"], ["klein"]]
    export(fit, use_gold=False, **NAMED)  # where none is looked at, none is warned of


def test_tasks_of_label_studio_keep_their_data_and_not_the_answers(fit, expected, export, tmp_path):
    tasks = write_to(tmp_path / "export.json", annotated_tasks())
    assert export(fit, to="label-studio", tasks=tasks, agent="we") == [
        {
            "id": int(item), "data": {"text": f"Text „{item}“", "n": 1}, "meta": {"source": "x"},
            "predictions": [{"model_version": "we", "score": score, "result": [region(label)]}],
        }
        for item, label, score in expected
    ]  # fmt: skip


def test_tasks_of_label_studio_from_its_flat_export_or_a_table(fit, export):
    answered = {"topic": "klein", "annotator": 1, "annotation_id": 2, "lead_time": 3.5}
    flat = [{"text": f"t{item}", "id": int(item), **answered} for item in ITEMS]
    first = export(fit, tasks=flat, **NAMED)[0]
    assert (first["id"], first["data"]) == (11, {"text": "t11"})
    table = pd.DataFrame({"Ticket": ITEMS, "text": [f"t{item}" for item in ITEMS]})
    first = export(fit, tasks=table, item="Ticket", **NAMED)[0]
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
def test_a_control_of_another_kind_gets_its_own_value(data, kind, labels, values, export):
    fit = fit_by_em(replace(data, labels=labels, gold={}))
    result = [{"from_name": "q", "to_name": "text", "type": kind, "value": {}}]
    found = export(fit, to="label-studio", tasks=annotated_tasks(annotations=[{"completed_by": 1, "result": result}]))
    (regions,) = zip(*(task["predictions"][0]["result"] for task in found), strict=True)
    assert {each["type"] for each in regions} == {kind}
    codes = [labels.index(label) for label in ba.label_table(fit)["label"]]
    assert [each["value"] for each in regions] == [values[code] for code in codes]


def test_suggestions_of_argilla_have_an_agent_and_a_score(fit, expected, export, tmp_path):
    records = [
        {
            "id": item, "fields": {"text": f"t{item}"}, "metadata": {"source": "x"}, "vectors": {}, "status": "pending",
            "suggestions": {"other": {"value": "?", "score": None, "agent": "m"}} if item == "13" else {},
            "responses": {"topic": [{"value": "klein", "user_id": "u"}]}, "_server_id": "s",
        }
        for item in ITEMS
    ]  # fmt: skip
    tasks = write_to(tmp_path / "records.json", records)
    assert export(fit, to="argilla", tasks=tasks, question="topic") == [
        {
            "id": item, "fields": {"text": f"t{item}"}, "metadata": {"source": "x"},
            "suggestions": {"topic": {"value": label, "score": score, "agent": "bayesanno mace"}},
            "responses": {},
        }
        for item, label, score in expected
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [str, int, lambda label: [label]], ids=["text", "number", "list"])
def test_records_of_argilla_may_be_flat_and_its_answers_numbers_or_lists(in_numbers, kind, export, tmp_path):
    columns = {"id": list(ITEMS), "status": ["completed"] * 7, "text": [f"t{item}" for item in ITEMS]}
    answers = {"q.responses": [[kind("2")]] * 7, "q.responses.users": [["u"]] * 7, "q.suggestion.score": [None] * 7}
    found = export(in_numbers, to="argilla", tasks=write_to(tmp_path / "columns.json", columns | answers))
    assert [record["fields"] for record in found] == [{"text": f"t{item}"} for item in ITEMS]
    values = [record["suggestions"]["q"]["value"] for record in found]
    assert values == [kind(label) for label in ba.label_table(in_numbers)["label"]]


def test_tasks_of_prodigy_have_their_label_chosen(fit, expected, export, tmp_path):
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
    assert export(fit, to="prodigy", tasks=tmp_path / "out.jsonl") == [
        {
            "text": f"t{item}", "_input_hash": int(item), "options": [{"id": name, "text": name} for name in LABELS],
            "accept": [label], "score": score, "meta": {"source": "x", "probability": round(score, 3)},
            "answer": "accept", "_view_id": "choice",
            "_annotator_id": "bayesanno mace", "_session_id": "bayesanno mace",
        }
        for item, label, score in expected
    ]  # fmt: skip


def test_options_of_prodigy_are_kept_where_they_have_all_labels(in_numbers, export):
    options = [{"id": number, "html": f"<img {number}>"} for number in range(4)]
    found = export(
        in_numbers,
        to="prodigy",
        tasks=[{"text": "t", "_input_hash": int(item), "options": options} for item in ITEMS],
    )
    assert all(task["options"] == options for task in found)
    assert [task["accept"] for task in found] == [[int(label)] for label in ba.label_table(in_numbers)["label"]]


def test_texts_of_doccano_have_their_label_and_metadata(fit, expected, export, tmp_path):
    texts = [{"id": int(item), "text": f"t{item}", "label": [], "Comments": [], "source": "x"} for item in ITEMS]
    assert export(fit, to="doccano", tasks=write_to(tmp_path / "texts.json", texts)) == [
        {
            "id": int(item), "text": f"t{item}", "source": "x", "label": [label], "probability": score,
            "labelled_by": "bayesanno mace",
        }
        for item, label, score in expected
    ]  # fmt: skip


def test_agreement_is_the_share_of_answers_that_are_the_label(fit):
    table = ba.label_table(fit)
    said = [[LABELS[code] for code in row if code is not None] for row in SAYINGS]
    expected = [row.count(label) / len(row) for row, label in zip(said, table["label"], strict=True)]
    np.testing.assert_allclose(table["agreement"], expected)
    records = [("a", "ana", "no"), ("a", "bo", "unsure"), ("b", "bo", "yes"), ("b", "ana", "yes"), ("b", "cy", "yes")]
    unsure = ba.AnnotationData.from_records(records, unsure="unsure", items=["a", "b", "c"])
    np.testing.assert_array_equal(ba.label_table(fit_by_em(unsure))["agreement"], [1, 1, np.nan])


def test_known_labels_are_sure_unless_they_are_ignored(fit, export):
    (one,) = (each for each in export(fit, use_gold=False, **NAMED) if each["task"] == 14)
    assert export.said.n_known == 0
    assert one["result"][0]["value"]["choices"] == ["größer"]  # and "klein" where gold is looked at
    assert one["score"] < 1


def test_items_that_are_less_sure_or_have_no_task_are_left_out(fit, export):
    probability = ba.label_table(fit).set_index("item")["probability"]
    least = float(probability.drop("14").sort_values().iloc[1])
    tasks = [*annotated_tasks()[:-2], {"id": 99, "data": {"text": "of no item"}}]
    found = export(fit, to="label-studio", tasks=tasks, min_probability=least, use_gold=False)
    shown = probability.loc[list(ITEMS[:-2])]
    kept = shown[shown >= least].index
    assert [str(task["id"]) for task in found] == kept.tolist()
    said = export.said
    assert (said.n_items, said.n_unsure, said.n_without_task) == (len(kept), 5 - len(kept), 2)
    assert 0 < len(kept) < 5


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # so few draws
def test_of_several_dimensions_one_is_exported_which_is_the_question(multi_fit, export, refuses):
    table = ba.label_table(multi_fit).query("dimension == 'polarity'")
    tasks = [{"id": item, "fields": {"text": item}} for item in table["item"]]
    found = export(multi_fit, to="argilla", tasks=tasks, dimension="polarity", use_gold=False)
    assert [record["suggestions"]["polarity"]["value"] for record in found] == table["label"].tolist()
    with refuses(ba.FitError, "this fit has dimensions focus, polarity: name one"):
        export(multi_fit, **NAMED)


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
