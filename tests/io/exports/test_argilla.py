"""Argilla's records, flat, nested and of the first version."""

import json

import pandas as pd
import pytest

from tests.io.cases import reading, refusing

ADA, BO = "3f0c6a2e-1111-4c5b-9a51-0a7a6a1f0001", "3f0c6a2e-1111-4c5b-9a51-0a7a6a1f0002"


def flat(name, values, users=(ADA, BO), status=None, **more):
    """One record of `to_list(flatten=True)`."""
    users = list(users)[: len(values)]
    return {
        "id": name, "status": "completed", "_server_id": f"server-{name}", "text": "Größe 👍",
        "label.responses": values, "label.responses.users": users,
        "label.responses.status": status or ["submitted"] * len(values),
        "label.suggestion": "neg", "label.suggestion.score": 0.7, "label.suggestion.agent": "bert", **more,
    }  # fmt: skip


def absent(name):
    """A record without responses and suggestions, which are null where others have them."""
    keep = ("id", "status", "_server_id", "text")
    return {key: value if key in keep else None for key, value in flat(name, ["pos"]).items()}


FLAT = [flat("a", ["pos", "neg"]), absent("b"), flat("c", ["pos", "pos"], status=["submitted", "draft"])]
SAID = [("a", ADA, "pos"), ("a", BO, "neg"), ("c", ADA, "pos")]
NESTED = [
    {"id": "a", "fields": {"text": "x"}, "metadata": {}, "vectors": {}, "_server_id": "s1",
     "suggestions": {"label": {"value": "neg", "score": None, "agent": None}},
     "responses": {"label": [{"value": "pos", "user_id": ADA}, {"value": "neg", "user_id": BO}]}},
    {"id": None, "fields": {"text": "y"}, "metadata": {}, "vectors": {}, "_server_id": "s2", "suggestions": {},
     "responses": {}},
]  # fmt: skip
OLD = [
    {"text": "x", "label": [{"user_id": ADA, "value": "pos", "status": "submitted"},
                            {"user_id": BO, "value": "neg", "status": "discarded"}],
     "label-suggestion": "neg", "label-suggestion-metadata": {"type": "model", "score": 0.5, "agent": "bert"},
     "external_id": None, "metadata": "{}"},
    {"text": "y", "label": [{"user_id": BO, "value": "neg", "status": "submitted"}], "label-suggestion": None,
     "label-suggestion-metadata": None, "external_id": "second", "metadata": "{}"},
]  # fmt: skip


def by_names(records):
    return {name: [record[name] for record in records] for name in records[0]}


FORMS = {
    "to_list": FLAT,
    "to_dict": by_names(FLAT),
    "to_dict, index": {record["id"]: {**record, "id": None} | {"id": record["id"]} for record in FLAT},
    "a DataFrame": pd.DataFrame(FLAT),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_submitted_responses_are_answers_in_every_flat_form(keep, said, tmp_path, form):
    content = FORMS[form]
    data, answers = said(content)
    assert (data.items, answers) == (("a", "b", "c"), SAID)
    if isinstance(content, pd.DataFrame):
        content.to_parquet(tmp_path / "records.parquet")
        assert said(tmp_path / "records.parquet", format="argilla")[1] == SAID
    else:
        assert said(keep(content))[1] == SAID


OLD_SAID = [("1", ADA, "pos"), ("second", BO, "neg")]
test_every_version_and_option_has_its_answers = reading({
    "nested": (json.dumps(NESTED), {}, SAID[:2]),
    "the first version": (json.dumps(OLD), {}, OLD_SAID),
    "the first version, as lists": ([{**each, "label": by_names(each["label"])} for each in OLD], {}, OLD_SAID),
    "the first version, as a table": (pd.DataFrame(OLD), {"item": "text"}, [("x", ADA, "pos"), ("y", BO, "neg")]),
    "suggestions": (FLAT, {"predictions": True}, [*SAID, ("a", "bert", "neg"), ("c", "bert", "neg")]),
    "nested suggestions": (NESTED, {"predictions": True}, [*SAID[:2], ("a", "suggestion", "neg")]),
    "suggestions of the first version": (OLD, {"predictions": True},
                                         [("1", ADA, "pos"), ("second", BO, "neg"), ("1", "bert", "neg")]),
    "several labels": ([flat("a", [["x", "y"], []])], {"multi_label": True},
                       [("a / x", ADA, "yes"), ("a / y", ADA, "yes"), ("a / x", BO, "no"), ("a / y", BO, "no")]),
})  # fmt: skip
test_what_is_wrong_is_named_with_its_place = refusing({
    "users": ([flat("a", ["pos", "neg"], [ADA])], {}, r"\[0\]: the lists differ in length, 2 of va"),
    "nobody": ([flat("a", ["pos"], [None])], {}, r"label 'pos' of item 'a' has no annotator"),
    "nothing": ([absent("a")], {}, "has no answers"),
    "only drafts": ([flat("a", ["pos"], status=["draft"])], {}, "no answers by annotators, but 1 prediction"),
    "no suggestions": ([{**NESTED[0], "suggestions": {}}], {"predictions": True}, "has no predictions: leave out"),
}, "export.json")  # fmt: skip
