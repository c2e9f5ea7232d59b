"""What an error of reading exports advises is an option that works."""

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


HELPSTEER = {"prompt": "p", "response": "r", "helpfulness": [3, 4], "correctness": [2, 2]}
CASES = {
    "one of several questions": ([studio("sad", "glad", stars=2)], 2),
    "several labels": ([studio(["sad", "odd"], ["glad"])], 6),
    "only predictions": ([studio(predicted="sad"), studio(predicted="glad")], 2),
    "a list of scores": ([HELPSTEER], 2, {"item": "{prompt}/{response}", "label": "helpfulness"}),
    "answers of one model": (
        [{"id": 1, "model": "m", "samples": [{"score": 3}, {"score": 4}]}], 2,
        {"label": "samples[].score"},
    ),
    "scores by judges": ([{"id": 1, "label": {"gpt": 3, "claude": 4}}], 2),
    "votes in a list": ([{"unit": "u", "votes": judged("t1", 4, 2)["votes"]}], 2),
}  # fmt: skip
test_what_an_error_advises_is_read = advising(CASES)
test_what_cannot_be_read_is_named = refusing({
    "rankings": ([{"item": 1, "judge": "x", "label": ["a", "b"]}, {"item": 1, "judge": "y", "label": ["b", "a"]}],
                 "an answer to item '1' has 2 labels, 'a', 'b'"),
    "boxes": ({"images": [{"id": 1}], "annotations": [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 1, 1]}]},
              "no field names the item"),
    "spans": ([{"text": "so", "spans": [{"start": 0, "end": 2, "label": "X"}], "by": "x"}], "no field names the"),
})  # fmt: skip
