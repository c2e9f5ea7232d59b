"""Seven items with their labels, and what tools export of them, for tests of what is given back to tools."""

import json

import bayesanno as ba

LABELS = ("größer", "klein", "“日本”, \n2")  # no ASCII, a comma, a quote and a line break
SAYINGS = [(0, 0, 0, 1), (1, 1, 1, 1), (2, 2, 2, 2), (0, 0, 1, 0), (1, 1, 0, 1), (2, 2, 2, 1), (0, None, 0, 0)]
ITEMS = tuple(str(number) for number in range(11, 18))
CONTROL = {"from_name": "topic", "to_name": "text", "type": "choices"}


def make_data():
    records = [
        (item, annotator, LABELS[code])
        for item, row in zip(ITEMS, SAYINGS, strict=True)
        for annotator, code in zip(("ana", "bo", "cy", "di"), row, strict=True)
        if code is not None
    ]
    return ba.AnnotationData.from_records(records, labels=LABELS, gold={"14": "klein"})


def fit_by_em(data):
    return ba.fit("mace", data, method="em", random_seed=1, progressbar=False)


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def region(label, **other):
    return {**CONTROL, "value": {"choices": [label]}, **other}


def annotated_tasks(**more):
    """What Label Studio exports of these items."""
    return [
        {
            "id": int(item), "data": {"text": f"Text „{item}“", "n": 1}, "meta": {"source": "x"}, "project": 3,
            "annotations": [{"id": 7, "completed_by": 1, "result": [region("klein")]}], "predictions": [], **more,
        }
        for item in ITEMS
    ]  # fmt: skip


def write_to(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
