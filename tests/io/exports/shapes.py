"""The shapes in which data of judgements are published as JSON, with a few made-up records, and how paths read them."""


def judged(name, *scores):
    return {"task": name, "votes": [{"by": who, "score": score} for who, score in zip("xyz", scores, strict=False)]}


# name: (content, options, answers). The shapes are those of public files; the contents are made up.
SHAPES = {
    "HelpSteer2, scores in a list": (
        [{"prompt": "p1", "response": "r", "helpfulness": [3, 4], "verbosity": [1, 1]},
         {"prompt": "p2", "response": "r", "helpfulness": [4], "verbosity": [2]}],
        {"item": "{prompt}/{response}", "annotator": "helpfulness[]#", "label": "helpfulness[]"},
        [("p1/r", "1", "3"), ("p1/r", "2", "4"), ("p2/r", "1", "4")],
    ),
    "one field for each judge": (
        [{"id": 1, "judges": {"gpt": "pass", "claude": "fail"}}, {"id": 2, "judges": {"gpt": "pass"}}],
        {"annotator": "judges{}#", "label": "judges{}"},
        [("1", "gpt", "pass"), ("1", "claude", "fail"), ("2", "gpt", "pass")],
    ),
    "HateXplain, an object of posts": (
        {"p1": {"post_id": "p1", "annotators": [{"label": "hate", "annotator_id": 1, "target": ["a"]},
                                                {"label": "normal", "annotator_id": 2, "target": []}],
                "rationales": [[0, 1]], "post_tokens": ["so"]},
         "p2": {"post_id": "p2", "annotators": [{"label": "hate", "annotator_id": 2, "target": []}], "rationales": [],
                "post_tokens": ["no"]}},
        {"item": "id", "annotator": "annotators[].annotator_id", "label": "annotators[].label"},
        [("p1", "1", "hate"), ("p1", "2", "normal"), ("p2", "2", "hate")],
    ),
    "SageMaker Ground Truth, JSON in a text": (
        [{"datasetObjectId": "7", "dataObject": {"content": "hi"}, "annotations": [
            {"workerId": "w1", "annotationData": {"content": '{"kind": {"label": "cat"}}'}},
            {"workerId": "w2", "annotationData": {"content": '{"kind": {"label": "dog"}}'}}]}],
        {"item": "datasetObjectId", "annotator": "annotations[].workerId",
         "label": "annotations[].annotationData.content.kind.label"},
        [("7", "w1", "cat"), ("7", "w2", "dog")],
    ),
    "promptfoo, results of an evaluation": (
        {"evalId": "e", "results": {"version": 3, "results": [
            {"testIdx": 0, "promptIdx": 0, "gradingResult": {"pass": True, "componentResults": [
                {"pass": True, "assertion": {"type": "rubric"}}, {"pass": False, "assertion": {"type": "factual"}}]}},
            {"testIdx": 0, "promptIdx": 1, "gradingResult": {"pass": True, "componentResults": [
                {"pass": True, "assertion": {"type": "rubric"}}]}}]}, "config": {}},
        {"item": "{results.results[].testIdx}/{results.results[].promptIdx}",
         "label": "results.results[].gradingResult.componentResults[].pass",
         "annotator": "results.results[].gradingResult.componentResults[].assertion.type"},
        [("0/0", "rubric", "true"), ("0/0", "factual", "false"), ("0/1", "rubric", "true")],
    ),
    "lm-eval, samples with filters": (
        [{"doc_id": n, "doc": {"q": "2 + 2?"}, "filter": name, "exact_match": hit, "filtered_resps": ["4"]}
         for n, name, hit in ((0, "strict", 1), (0, "flexible", 0), (1, "strict", 0))],
        {"item": "doc_id", "annotator": "filter", "label": "exact_match"},
        [("0", "strict", "1"), ("0", "flexible", "0"), ("1", "strict", "0")],
    ),
    "lm-eval, repeated answers": (
        [{"doc_id": 0, "filtered_resps": [["4", "5"]]}, {"doc_id": 1, "filtered_resps": [["4", "4"]]}],
        {"item": "doc_id", "annotator": "filtered_resps[0][]#", "label": "filtered_resps[0][]"},
        [("0", "1", "4"), ("0", "2", "5"), ("1", "1", "4"), ("1", "2", "4")],
    ),
    "SummEval, experts by number": (
        [{"id": "dm-1", "model_id": "M0", "expert_annotations": [{"coherence": 2, "fluency": 5}, {"coherence": 4}]}],
        {"item": "{id}/{model_id}", "annotator": "expert_annotations[]#", "label": "expert_annotations[].coherence"},
        [("dm-1/M0", "1", "2"), ("dm-1/M0", "2", "4")],
    ),
    "Label Studio, by its paths": (
        [{"id": 5, "annotations": [
            {"completed_by": 3, "result": [{"from_name": "mood", "value": {"choices": ["sad"]}}]},
            {"completed_by": 4, "result": [{"from_name": "stars", "value": {"rating": 4}},
                                           {"from_name": "mood", "value": {"choices": ["angry"]}}]}]}],
        {"item": "id", "annotator": "annotations[].completed_by",
         "label": "annotations[].result[].value.choices[]", "format": "records"},
        [("5", "3", "sad"), ("5", "4", "angry")],
    ),
    "keys of objects": (
        {"a": {"x": 1, "y": 2}, "b": {"x": 2}},
        {"item": "{}#", "annotator": "{}{}#", "label": "{}{}"},
        [("a", "x", "1"), ("a", "y", "2"), ("b", "x", "2")],
    ),
}  # fmt: skip

# the files of the guide
FILES = {
    "helpsteer2.jsonl": "HelpSteer2, scores in a list",
    "verdicts.jsonl": "one field for each judge",
    "hatexplain.json": "HateXplain, an object of posts",
    "groundtruth.json": "SageMaker Ground Truth, JSON in a text",
    "promptfoo.json": "promptfoo, results of an evaluation",
    "samples.jsonl": "lm-eval, samples with filters",
    "summeval.jsonl": "SummEval, experts by number",
}
