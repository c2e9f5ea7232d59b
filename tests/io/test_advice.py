"""What an error advises is a command that works; a table is read to the same data whatever its names, or refused."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesanno._core.messages import DataError
from bayesanno.io.read import read_annotations
from tests.io.cases import advising

RATERS = ("rater_1", "rater_2")
LONG = {"items": ("a", "b"), "annotators": ("ada", "bo"), "labels": ("x", "y")}
ROWS = "a,ada,x\na,bo,y\nb,ada,x\nb,bo,x\n"

WIDE = {"items": ("a", "b"), "annotators": RATERS, "labels": ("x", "y")}

# name of a case: the text, and what the first command reads: items, annotators, labels
CASES = {
    "wide": ("item,ada,bo\na,x,y\nb,x,x\n", LONG),
    "names with an alias as a word": (
        f"Tweet No., Annotator name,Emotion (main)\n{ROWS}", LONG
    ),
    "votes": ("id,x,y\na,2,9\nb,1,1\n", {**LONG, "annotators": ("anyone",)}),
    "votes beside texts": ("id,text,x,y\na,so it is,2,0\nb,no,1,1\n", {**LONG, "annotators": ("anyone",)}),
    "answers without names": ("instance_id,level\na,x\na,y\nb,x\n", {**LONG, "annotators": ("anyone",)}),
    "no item and label": (f"unknown,worker,said\n{ROWS}", LONG),
    "no pairs": ("item,model_a,model_b,judge,winner\na,m,n,ada,m\nb,m,n,bo,n\n",
                 {**LONG, "labels": ("model_a", "model_b")}),
    "two items": ("id,text,annotator,label\na,p,ada,x\na,p,bo,y\nb,q,ada,x\n", LONG),
    "two annotators": ("item,worker,coder,label\na,ada,z,x\na,bo,z,y\nb,bo,z,y\n", LONG),
    "an id twice": ("id,rater_1,rater_2\na,x,\na,,y\nb,x,x\n", WIDE),
    "a number beside names": ("id,rater_1,rater_2,n\na,x,y,7\nb,x,x,8\n", WIDE),
    "blanks": ("item annotator label\na ada x\na bo y\nb bo x\n", LONG),
    "transposed": ("who,a1,a2\nada,x,x\nbo,y,x\n", {**LONG, "items": ("a1", "a2")}, {"transpose": True}),
    "several labels": ("item,annotator,label\na,ada,x|y\na,bo,x\nb,ada,y\n", 6),
    "one-hot": ("id,rater_id,joy,anger\na,ada,1,0\na,bo,0,1\n", 4),
}  # fmt: skip
test_what_an_error_advises_is_read = pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")(
    advising(CASES)
)
ROLES = {
    "item": ["item", "task_id", "unit", "text", "output_id", "thing", "nr"],
    "annotator": ["annotator", "worker", "JudgeId", "model", "who"],
    "label": ["label", "verdict", "score", "said"],
}
ADDED = {  # by the number of the row and of the item
    "id": lambda row, _: row, "batch_id": lambda _, item: item // 2, "text": lambda _, item: f"words {item}",
    "topic": lambda _, item: "pq"[item % 2], "n": lambda *_: 3, "count": lambda *_: 1, "score": lambda row, _: row / 7,
    "model": lambda row, _: f"m{row % 2}", "comment": lambda *_: "so", "rater_1": lambda row, _: "xy"[row % 2],
    "rater_2": lambda *_: "y", "final": lambda *_: "x", "confidence": lambda row, _: row % 5,
    "author_id": lambda _, item: item % 3, "duration": lambda row, _: row, "model_a": lambda *_: "s",
    "model_b": lambda *_: "t", "": lambda row, _: row, "user": lambda _, item: f"u{item}",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")
@given(
    names=st.fixed_dictionaries({role: st.sampled_from(names) for role, names in ROLES.items()}),
    added=st.lists(st.sampled_from(list(ADDED)), max_size=5, unique=True),
    chance=st.randoms(use_true_random=False),
    labels=st.sampled_from([["x", "y"], ["1", "2", "3"], ["yes", "no", "?"]]),
)
def test_a_long_table_is_read_to_the_same_data_or_refused(names, added, chance, labels):
    """Whatever its columns are called, and whatever others are beside them, in any order."""
    asked = [(item, who) for item in range(6) for who in chance.sample(range(4), chance.choice([3, 4]))]
    answers = [(f"s{item}", f"w{who}", labels[(item * who) % len(labels)]) for item, who in asked]
    table = pd.DataFrame(answers, columns=[names[role] for role in ROLES], dtype="str")
    for name in added:
        is_role = name == "user" and names["annotator"] in ("model", "who")  # by its name, it is then the annotator
        if name not in table and not is_role:
            table[name] = [str(ADDED[name](row, item)) for row, (item, _) in enumerate(asked)]
    table = table[chance.sample(list(table.columns), len(table.columns))]
    table = table.sample(frac=1, random_state=chance.randrange(1000), ignore_index=True)
    try:
        data = read_annotations(table)
    except DataError:
        return
    codes = zip(data.item, data.annotator, data.label, strict=True)
    found = sorted((data.items[i], data.annotators[j], data.labels[k]) for i, j, k in codes)
    by_text = "text" in table and data.items[0].startswith("words")  # a text names the same items
    assert found == sorted((item.replace("s", "words ") if by_text else item, *rest) for item, *rest in answers)
