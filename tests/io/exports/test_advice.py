"""What an error of reading exports advises is an option that works."""

import re

import pandas as pd
import pytest

from bayesanno._core.errors import DataError
from bayesanno.io.annotations import read_annotations
from tests.io.cases import advising, refusing
from tests.io.exports.shapes import judged


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
CASES = {
    "one of several questions": ([studio("sad", "glad", stars=2)], {}, "choose one", 2),
    "several labels": ([studio(["sad", "odd"], ["glad"])], {}, "make each label", 6),
    "only predictions": ([studio(predicted="sad")], {}, "read them", 1, {"labels": ["sad", "glad"]}),
    "a list of scores": (
        [HELPSTEER], {}, "if each element", 2, {"item": "{prompt}/{response}", "label": "helpfulness"},
    ),
    "lists side by side": (SIDE_BY_SIDE, {}, "if they are side", 2, {"annotator": "who[]", "label": "score[]"}),
    "a name with a separator": (
        pd.DataFrame({"item": [1, 1], "user": ["Doe, J", "Roe"], "label": ["a", "b"]}), {}, "if the field", 2,
        {"split": ","},
    ),
    "answers of one model": (
        [{"id": 1, "model": "m", "samples": [{"score": 3}, {"score": 4}]}], {}, "if each is an answer", 2,
        {"label": "samples[].score"},
    ),
    "scores by judges": ([{"id": 1, "label": {"gpt": 3, "claude": 4}}], {}, "if they are annotators", 2),
    "columns of 0 and 1": (FLAGS, {}, "or the columns", 4, {"multi_label": True}),
    "columns of lists": (LISTS, {}, "or the columns", 8, {"multi_label": True}),
}  # fmt: skip
test_what_an_error_advises_is_read = advising(CASES)


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


test_rankings_spans_and_boxes_are_named_with_what_to_do = refusing({
    "rankings": ([{"item": 1, "judge": "x", "label": ["a", "b"]}, {"item": 1, "judge": "y", "label": ["b", "a"]}],
                 "it may be a ranking: write a row for each two of the options"),
    "boxes": ({"images": [{"id": 1}], "annotations": [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 1, 1]}]},
              "boxes or places are not read: write a table with a row for each box, annotator and label"),
    "spans": ([{"text": "so", "spans": [{"start": 0, "end": 2, "label": "X"}], "by": "x"}],
              "spans are not read: write a table with a row for each token, annotator and tag"),
})  # fmt: skip
