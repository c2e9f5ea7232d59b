"""Tables whose names do not say what a column is, so that the reader asks and gives the options."""

import json

from tests.io.refused.tables import case


def lines(records):
    return "\n".join(map(json.dumps, records))


def rows(header, several):
    return "\n".join([header, *(",".join(map(str, one)) for one in several)])


ROW_IDS = [{"id": n, "task": "hate", "worker": f"w{n % 3}", "label": "ab"[n % 2]} for n in range(24)]
SAID = [{"id": 1, "annotations": [{"annotator": "a", "label": "x"}, {"annotator": "b", "label": "y"}]}]
BESIDE = {"p1": {"annotators": [{"annotator_id": 1, "label": "x"}]}, "p2": {"annotators": []}}
TEXTS = [(n, f"text {n}", f"j{j}", (n + j) % 3) for n in range(5) for j in range(2)]
TURNS = [(f"q{n}", f"r{n}{k}", f"j{j}", (n + j + k) % 3) for n in range(3) for k in range(2) for j in range(2)]
ONE = [(n, "hate?", f"w{n}", "yn"[n % 2]) for n in range(18)]
CATEGORIES = [(q, c, j, s) for q, c in enumerate(("math", "coding")) for j, s in (("a", 7), ("b", 8 - q))]
PREDICTED = [(n, m, "yn"[n != m], "yn"[n]) for n in (0, 1) for m in (0, 1)]
PERSONS = [(f"hi {n}", f"well {n}") for n in range(12)]
WORDS = [(f"q{n // 2}", f"w{n % 2}", f"words {n}") for n in range(30)]
SEVERAL = [{"judge": "a", "verdict": "good"}, {"judge": "b", "verdict": "bad"}]
JUDGED = [{"question": f"q{n}", "model": "m", "answer": "AB"[n % 2], "judgments": SEVERAL} for n in range(4)]
ONE_BY_MANY = {"item": 1, "annotator": "a", "label": "x", "votes": [{"user_id": "u", "said": "y"}]}
NESTED = [{"id": n, "task": "hate", "labels": {"a": "xy"[n % 2], "b": "x"}} for n in range(4)]
FLAGS = [(n, j, label, int((j == "a") == (label == "joy"))) for n in (1, 2) for j in "ab" for label in ("joy", "fear")]
FORMS = [(form, n, j, "xy"[n]) for form in "AB" for n in (0, 1) for j in "ab"]
VOTES = "id,1,2,3\ns1,0,0,14\ns2,0,2,12\ns3,3,3,8\n"
SURVEY = "Timestamp,Name,Age,How clear is 1?,How clear is 2?\n2024,Ada,31,clear,unclear\n2025,Bo,31,clear,clear\n"

COLUMNS = {
    "people": case("item,ada,bo\n1,x,y\n2,x,x\n"),
    "names with commas": case('id,"bad, really?",good?\n1,x,y\n'),
    "no header": case("w1\turl1\tspam\nw2\turl1\tok\nw1\turl2\tok\nw2\turl2\tok\n"),
    "no header, and no names": case("NOUN,,VERB\n,VERB,VERB\n", no_header=True),
    "a headerless file": case("s1,yes,no\ns2,no,yes\n", columns="2:"),
    "no item or label column": case("id,worker,said\n1,a,b\n"),
    "a label alone": case("item,label,ada\n1,x,y\n"),
    "teams and their annotators": case("item,annotator,worker,label\n1,red,ada,x\n1,red,bo,y\n"),
    "two annotators": case("task,worker,coder,label\n1,a,b,c\n"),
    "an id beside a text": case("id,text,annotator,label\n1,a,ada,x\n1,a,bo,y\n2,b,ada,x\n2,b,bo,x\n"),
    "raters and another": case("id,rater_1,rater_2,age\n1,x,y,7\n"),
    "an id twice": case("id,rater_1,rater_2\n1,x,y\n1,x,x\n"),
    "a number beside a name": case("id,rater_1,rater_2,n\n1,x,y,4\n"),
    "items beside their number": case("word,rater_1,rater_2,freq\ncat,x,y,3\ndog,x,x,2\n", columns="rater_1,rater_2"),
    "numbers of rows": case("n,rater_1,rater_2\n1,x,y\n2,x,x\n"),
    "texts of persons": case(rows("person_1,person_2", PERSONS)),
    "votes": case(VOTES),
    "subjects of votes": case("subject,no,yes\n1,0,3\n2,5,0\n3,1,1\n", format="votes"),
    "workers of votes": case("item,worker,yes,no\n1,7,3,1\n2,8,0,4\n", format="votes"),
    "a total by its name": case("item,no,maybe,yes,n_votes\ns1,2,0,1,7\ns2,0,0,3,8\n", format="votes"),
    "one-hot": case("id,rater_id,joy,anger\n1,r1,1,0\n1,r2,0,1\n"),
    "one-hot without annotators": case("id,joy,anger\n0,0,1\n1,1,0\n", multi_label=True, columns="joy,anger"),
    "lists of 0 and 1": case("item;worker;label\n1;a;[1, 0]\n1;b;[0, 1]\n", multi_label=True),
    "transposed": case("participant,Q1,Q2,Q3\nP0,a,b,a\nP1,a,b,b\nP2,a,a,a\n"),
    "a survey with names": case(SURVEY, transpose=True, annotator="Name"),
    "a survey of two words": case("participant,Q1,age2\nada,x,y\nbo,x,x\n", transpose=True),
    "an id of rows": case("id,worker,label\n1,ada,x\n2,bo,y\n"),
    "an id of groups": case("batch_id,worker,label\n1,ada,x\n1,ada,y\n1,bo,y\n"),
    "one question": case(rows("id,question,worker,answer", ONE)),
    "two ids": case(rows("question_id,response_id,rater,score", TURNS)),
    "texts": case(rows("question,worker,answer", WORDS)),
    "texts beside a score": case(rows("id,response,judge,score", TEXTS)),
    "one text for each item": case(rows("question,answer,rater,right", TEXTS)),
    "a property of items": case(rows("question_id,category,judge,score", CATEGORIES)),
    "the label of a model": case(rows("id,model,prediction,label", PREDICTED)),
    "a number of answers": case("item,annotator,label,count\n1,a,x,3\n1,b,y,2\n"),
    "systems in one word": case("id,ModelA,ModelB,judge,winner\n1,x,y,j,A\n"),
    "systems in both orders": case("question_id,model_a,model_b,judge,winner\n1,x,y,j1,model_a\n1,y,x,j2,model_a\n"),
    "labels that are columns": case("item,ours,theirs,judge,label\n1,x,y,j,ours\n2,x,y,j,theirs\n"),
    "rows of JSON": case(lines(ROW_IDS)),
    "an object of counts": case(lines([{"id": 1, "label": {"pos": None, "neg": 3}}])),
    "judgements in a list": case(lines(SAID)),
    "judgements beside answers": case(lines(JUDGED)),
    "a number of annotators": case(lines([{"id": 1, "annotators": 3, "labels": ["joy"]}])),
    "annotators in a list": case(json.dumps(BESIDE), label="annotators[].label"),
    "votes by people beside an annotator": case(lines([{**ONE_BY_MANY, "votes": []}, ONE_BY_MANY])),
    "tasks in nested JSON": case(lines(NESTED), annotator="labels{}#", label="labels{}"),
    "not Label Studio": case(json.dumps([{"data": {}} | SAID[0]])),
    "not Argilla": case(lines([{"id": 1, "ev": [{"user_id": "u", "value": "x", "status": "ok"}]}])),
    "doccano in one file": case(json.dumps([{"id": 1, "text": "t", "label": ["y", "n"]}])),
}
