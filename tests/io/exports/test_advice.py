"""What an error of reading exports advises is an option that works."""

import ast
import re

import pandas as pd
import pytest

from bayesanno._core.errors import DataError
from bayesanno._core.wording import on_command_line
from bayesanno.io.annotations import read_annotations
from tests.io.cases import refusing
from tests.io.exports.shapes import judged

ADVICE = re.compile(r"\b([a-z_]+)=(True|'[^']*')")


def studio(*moods, predicted=None, **more):
    """Tasks of Label Studio with a question, and more of them."""
    region = {"from_name": "mood", "type": "choices"}
    given = [(predicted, "m1")] if predicted else list(zip(moods, "xyz", strict=False))
    annotations = [
        {"completed_by": by, "model_version": by, "result": [
            {**region, "value": {"choices": mood if isinstance(mood, list) else [mood]}},
            *({"from_name": name, "type": "rating", "value": {"rating": value}} for name, value in more.items()),
        ]} for mood, by in given
    ]  # fmt: skip
    return {"id": 1, "data": {}, "predictions" if predicted else "annotations": annotations}


FLAGS = pd.DataFrame({"item": [1, 2], "annotator": ["x", "x"], "text": ["t", "u"], "joy": [1, 0], "anger": [0, 1]})
LISTS = pd.DataFrame({"item": [1, 2], "w1": [["joy"], ["anger"]], "w2": [[], ["joy"]]})
HELPSTEER = {"prompt": "p", "response": "r", "helpfulness": [3, 4], "correctness": [2, 2]}
SIDE_BY_SIDE = [{"id": 1, "who": ["x", "y"], "score": [1, 2]}]
# name: content, options given, options advised, and the number of answers that are then read
CASES = {
    "one of several questions": ([studio("sad", "glad", stars=2)], {}, {"label": "mood"}, 2),
    "several labels": ([studio(["sad", "odd"], ["glad"])], {}, {"multi_label": True}, 6),
    "only predictions": ([studio(predicted="sad")], {"labels": ["sad", "glad"]}, {"predictions": True}, 1),
    "a list of scores": (
        [HELPSTEER], {"item": "{prompt}/{response}", "label": "helpfulness"},
        {"annotator": "helpfulness[]#", "label": "helpfulness[]"}, 2,
    ),
    "lists side by side": (
        SIDE_BY_SIDE, {"annotator": "who[]", "label": "score[]"}, {"annotator": "who", "label": "score"}, 2,
    ),
    "a name with a separator": (
        pd.DataFrame({"item": [1, 1], "user": ["Doe, J", "Roe"], "label": ["a", "b"]}), {"split": ","},
        {"annotator": "{user}"}, 2,
    ),
    "answers of one model": (
        [{"id": 1, "model": "m", "samples": [{"score": 3}, {"score": 4}]}], {"label": "samples[].score"},
        {"annotator": "samples[]#"}, 2,
    ),
    "scores by judges": (
        [{"id": 1, "label": {"gpt": 3, "claude": 4}}], {}, {"annotator": "label{}#", "label": "label{}"}, 2,
    ),
    "columns of 0 and 1": (FLAGS, {"multi_label": True}, {"columns": "joy,anger"}, 4),
    "columns of lists": (LISTS, {"multi_label": True}, {"columns": "w1,w2"}, 8),
}  # fmt: skip


@pytest.mark.parametrize("which", CASES)
def test_what_an_error_advises_is_read(which):
    content, given, advised, n_annotations = CASES[which]
    with pytest.raises(DataError) as refused:
        read_annotations(content, **given)
    found = {name: ast.literal_eval(value) for name, value in ADVICE.findall(str(refused.value))}
    assert {name: found.get(name) for name in advised} == advised
    with on_command_line(), pytest.raises(DataError) as refused_there:
        read_annotations(content, **given)
    assert all(f"--{name.replace('_', '-')}" in str(refused_there.value) for name in advised)
    assert read_annotations(content, **given | advised).n_annotations == n_annotations


def test_paths_that_an_error_shows_are_paths():
    record = judged("t1", 4, 2) | {"unit": {"name": "u"}}
    del record["task"]
    with pytest.raises(DataError) as refused:
        read_annotations([record])
    shown = re.search(r"the record has (.*?) \(", str(refused.value))[1]
    paths = re.findall(r"(?:^|, )([^ ,]+) = ", shown)
    assert paths == ["unit.name", "votes[].by", "votes[].score"]
    data = read_annotations([record], item=paths[0], annotator=paths[1], label=paths[2])
    assert (data.items, data.annotators, data.labels) == (("u",), ("x", "y"), ("2", "4"))


NOT_READ = {
    "rankings": ([{"item": 1, "judge": "x", "label": ["a", "b"]}, {"item": 1, "judge": "y", "label": ["b", "a"]}],
                 "it may be a ranking: write a row for each two of the options"),
    "boxes": ({"images": [{"id": 1}], "annotations": [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 1, 1]}]},
              "boxes or places are not read: write a table with a row for each box, annotator and label"),
    "spans": ([{"text": "so", "spans": [{"start": 0, "end": 2, "label": "X"}], "by": "x"}],
              "spans are not read: write a table with a row for each token, annotator and tag"),
}  # fmt: skip


test_rankings_spans_and_boxes_are_named_with_what_to_do = refusing(NOT_READ)
