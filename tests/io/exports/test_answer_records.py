"""Records of answers: an object for each, as programs that ask models write them."""

import numpy as np
import pandas as pd
import pytest

from tests.io.cases import refusing


def judged(item, model, label, prompt="v1", **more):
    usage = {"tokens": 3}
    return {"item": item, "model": model, "prompt": prompt, "order": "AB", "label": label, "usage": usage, **more}


JUDGES = [
    judged("q1", "gpt", "A"),
    judged("q1", "gpt", "B", "v2"),
    judged("q2", "claude", "B"),
    judged("q2", "gpt", None),
]
PAIRS = [("q1", "gpt/v1", "A"), ("q1", "gpt/v2", "B"), ("q2", "claude/v1", "B")]


def test_the_annotator_is_a_template_over_fields(keep, said):
    template = "{model}/{prompt}"
    path = keep(JUDGES, "judges.jsonl", lines=True)
    numpys = [{**each, "label": each["label"] and np.str_(each["label"]), "seed": np.int64(1)} for each in JUDGES]
    table = keep("item,model,prompt,label\nq1,gpt,v1,A\nq1,gpt,v2,B\nq2,claude,v1,B\n", "judges.csv")
    for source in (path, keep(JUDGES), JUDGES, numpys, pd.DataFrame(JUDGES), table):
        assert said(source, annotator=template)[1] == PAIRS
    assert said(path, annotator="model", format="records")[0].annotators == ("gpt", "claude")
    assert said(path, annotator="{usage.tokens} of {model}")[0].annotators == ("3 of gpt", "3 of claude")


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")  # true is the only label that is no number
def test_fields_are_known_by_the_names_of_columns(said):
    rows = ((1, 0.5, 1.0), (2, 1.0, None), (3, True, 0.5))
    data, answers = said([{"id": n, "judge": "x", "score": s, "gold": g} for n, s, g in rows], label="score")
    assert answers == [("1", "x", "0.5"), ("2", "x", "1"), ("3", "x", "true")]
    assert data.gold == {"1": "1", "3": "0.5"}


NOBODY = [{"llm" if key == "model" else key: value for key, value in JUDGES[0].items()}]
BY_MODEL = {"annotator": "model"}
test_what_is_wrong_is_named_with_its_line = refusing({
    "nobody": (NOBODY, {}, "no field names the annotator; the record has"),
    "no field of a template": (JUDGES, {"annotator": "{model}/{promt}"}, "has no column 'promt' to use as annotator"),
    "empty field": ([JUDGES[0], judged("q", "m", "A", None)], {"annotator": "{model}/{prompt}"}, "line 2: 'prompt' "
                                                                                                 "of the annotator"),
    "no annotator": ([judged("q", None, "A")], BY_MODEL, "'A' of item 'q' has no annotator"),
    "item is a list": ([judged(["q"], "m", "A")], BY_MODEL, "line 1: item is a list, but must be a text"),
}, "judges.jsonl", lines=True)  # fmt: skip
NUMBERS = {
    "not a number": ("NaN", "line 1: NaN is no value of JSON"),
    "thousands of digits": ("9" * 5000, "line 1: a number here or below has thousands of digits"),
    "half a surrogate pair": (r'"\ud800"', r"is not valid Unicode"),
    "a zero byte": (r'"a\u0000"', r"line 1: label 'a\\x00' has a zero byte"),
}
ANSWER = '{"item": "a", "judge": "x", "label": %s}\n'
test_labels_that_are_none = refusing({what: (ANSWER % n, match) for what, (n, match) in NUMBERS.items()}, "x.jsonl")
