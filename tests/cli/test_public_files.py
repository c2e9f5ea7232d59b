"""The commands of the guide read files of the shapes that they are for, as what they are.

Each file has the columns or fields of a public one, and a few made-up rows.
"""

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
import typer

import bayesanno as ba
from bayesanno.cli.app import app
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import ReadingForModel, gather_options, one_source, options_of
from tests.io.exports.shapes import FILES, SHAPES

GUIDE = Path(__file__).parents[2] / "notebooks" / "guide.md"
COMMANDS = dict(
    re.findall(r"^\| ([^|]*?) \| `(bayesanno (?:fit|agreement) .*?)` \|$", GUIDE.read_text().replace("\\|", "│"), re.M)
)


def write_cleanlab(path):
    pd.DataFrame({"ada": [0, 1, None], "bo": [0, None, 2], "cy": [1, 1, 2]}, index=[10, 11, 15]).to_parquet(path)


TEXTS = {
    "batch.csv": (
        '"HITId","HITTypeId","Title","WorkerId","AssignmentStatus","Input.text","Answer.mood","Approve","Reject"\n'
        '"H1","T","Moods","W1","Submitted","so, so","good"\n"H1","T","Moods","W2","Submitted","so, so","bad"\n'
    ),
    "full.csv": (
        "_unit_id,_created_at,_golden,_id,_missed,_started_at,_tainted,_channel,_trust,_worker_id,_country,_region,_city,"
        "_ip,sentiment,sentiment_gold,text\n"
        "71,5/1/2015 09:02,false,1600,,5/1/2015 09:01,false,elite,0.9,9,USA,TX,Austin,1.2.3.4,pos,pos,text of 71\n"
        "71,5/1/2015 09:02,false,1600,,5/1/2015 09:01,false,elite,0.9,8,USA,TX,Austin,1.2.3.4,neg,pos,text of 71\n"
        "72,5/1/2015 09:02,false,1600,,5/1/2015 09:01,false,elite,0.9,9,USA,TX,Austin,1.2.3.4,neg,,text of 72\n"
    ),
    "classifications.csv": (
        "classification_id,user_name,user_id,user_ip,workflow_id,workflow_name,workflow_version,created_at,gold_standard,"
        "expert,metadata,annotations,subject_data,subject_ids\n"
        '0,ada,,ip,1,Animals,1.1,2020-01-01 UTC,,,{},"[{""task"": ""T0"", ""task_label"": ""What is it?"", ""value"": '
        '""Lion""}, {""task"": ""T1"", ""task_label"": ""How many?"", ""value"": ""1""}]",{},71\n'
        '1,not-logged-in-1,,ip,1,Animals,1.1,2020-01-01 UTC,,,{},"[{""task"": ""T0"", ""task_label"": ""What is it?"", '
        '""value"": ""Zebra""}, {""task"": ""T1"", ""task_label"": ""How many?"", ""value"": ""1""}]",{},71\n'
    ),
    "pool.tsv": (
        "INPUT:image\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\n"
        "a.png\tcat\t\tt1\tw1\na.png\tdog\t\tt1\tw2\n"
    ),
    "train.json": (
        '{"1": {"text": "so", "annotation task": "hate speech", "number of annotations": 3, "annotators": '
        '"Ann1,Ann2,Ann3", "annotations": "0,1,0", "lang": "en", "hard_label": "0", "soft_label": {"0": 0.67, "1": '
        '0.33}, "split": "dev", "other_info": {}}, "2": {"text": "so", "annotation task": "hate speech", "number of '
        'annotations": 2, "annotators": "Ann2,Ann4", "annotations": "1,1", "lang": "en", "hard_label": "1", '
        '"soft_label": {"0": 0, "1": 1}, "split": "dev", "other_info": {}}}'
    ),
    "goemotions.csv": (
        "text,id,author,subreddit,link_id,parent_id,created_utc,rater_id,example_very_unclear,admiration,amusement,anger\n"
        "text of e1,e1,ann,pics,t3_x,t1_y,1548381039.0,1,False,0,0,1\n"
        "text of e1,e1,ann,pics,t3_x,t1_y,1548381039.0,37,False,0,1,1\n"
        "text of e2,e2,ann,pics,t3_x,t1_y,1548381039.0,37,False,0,0,0\n"
    ),
    "raw_data.csv": (
        "instance_id,user_id,text,offensiveness,gender,age,occupation\n"
        "0,0,so,1,Woman,30-34,Employed\n0,1,so,4,Woman,30-34,Employed\n1,0,so,2,Woman,30-34,Employed\n"
    ),
    "mqm.tsv": (
        "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
        'Online-A.1574\tbbc.1\t1\t3\trater1\t"Yes" he said\t"Ja sagte er\tFluency/Grammar\tMinor\n'
        'Online-B.1590\tbbc.1\t1\t3\trater2\t"Yes" he said\t"Ja sagte er\tFluency/Grammar\tMajor\n'
    ),
    "judgements.jsonl": (
        '{"question_id": 81, "model_a": "alpaca", "model_b": "gpt", "winner": "model_a", "judge": "author_1", '
        '"conversation_a": [{"content": "Hello", "role": "user"}], "conversation_b": [], "turn": 1}\n'
        '{"question_id": 81, "model_a": "alpaca", "model_b": "gpt", "winner": "tie", "judge": "expert_2", '
        '"conversation_a": [{"content": "Hello", "role": "user"}], "conversation_b": [], "turn": 1}\n'
    ),
    "labels.txt": "worker1\thttp://sunny.com\tporn\nworker1\thttp://fun.com\tnotporn\nworker2\thttp://sunny.com\tporn\n",
    "answers.csv": "NOUN,,NOUN\n,VERB,VERB\nNOUN,VERB,\n",
    "lfs.csv": ",lf_link,lf_short,lf_long\n0,1,-1,-1\n1,-1,0,0\n2,1,1,-1\n",
    "cifar10n.csv": (
        "clean_label,worse_label,aggre_label,random_label1,random_label2,random_label3\n6,6,6,6,4,6\n9,9,9,9,9,9\n"
    ),
    "chaosnli.csv": "uid,e,n,c\n19610n,62,36,2\n64538c,0,10,90\n",
    "reliability.csv": "coder,1,2,3,4\nA,*,1,3,4\nB,1,1,3,4\nC,3,*,2,4\nD,1,1,3,4\nE,4,*,*,1\n",
    "survey.csv": "participant,Q1,Q2,Q3\nP0,a,b,a\nP1,a,b,b\nP2,a,a,a\n",
    "arena.csv": (
        "question_id,model_a,model_b,winner,judge,turn,anony,language,tstamp\n"
        "58ab,chatglm-6b,koala-13b,model_b,arena_user_973,1,True,English,1682351591.13\n"
        "2a5c,oasst-pythia-12b,alpaca-13b,tie (bothbad),arena_user_973,1,True,English,1682351655.58\n"
    ),
    "pandalm.csv": "item,first,second,annotator,label\n0,bloom,llama,p1,2\n1,bloom,llama,p1,0\n2,llama,bloom,p2,1\n",
    "annotations.json": json.dumps([
        {"instruction": f"i{n}", "generator_1": "gpt4", "generator_2": "llama", "annotator": "claude",
         "preference": said, "raw_completion": {"text": "2"}}
        for n, said in enumerate((2.0, 1.0, 0))
    ]),
    "project.json": json.dumps([
        {"id": n, "data": {"model_a": "x", "model_b": "y"}, "annotations": [
            {"completed_by": who, "result": [{"type": "pairwise", "value": {"selected": said}}]}
            for who, said in ((1, "left"), (2, "right"))
        ]}
        for n in range(2)
    ]),
    "ranked.json": json.dumps([{"id": "r1", "responses": [
        {"user_id": who, "values": {"ranking": {"value": [
            {"value": "a", "rank": 1 + who}, {"value": "b", "rank": 2 - who},
        ]}}}
        for who in (0, 1)
    ]}]),
    "comparisons.csv": "worker,left,right,label\nw1,a,b,a\nw2,a,b,b\nw1,b,c,c\n",
    "tokens.csv": "text,token,annotator,label\ns1,0,ada,B-LOC\ns1,1,ada,O\ns1,0,bo,O\ns1,1,bo,O\n",
}  # fmt: skip
# file: items, annotators, labels, number of annotations
EXPECTED = {
    "batch.csv": (("H1",), ("W1", "W2"), ("bad", "good"), 2),
    "full.csv": (("71", "72"), ("9", "8"), ("neg", "pos"), 3),
    "classifications.csv": (("71",), ("ada", "not-logged-in-1"), ("Lion", "Zebra"), 2),
    "pool.tsv": (("t1",), ("w1", "w2"), ("cat", "dog"), 2),
    "labels.txt": (("http://sunny.com", "http://fun.com"), ("worker1", "worker2"), ("notporn", "porn"), 3),
    "answers.csv": (("1", "2", "3"), ("1", "2", "3"), ("NOUN", "VERB"), 6),
    "lfs.csv": (("0", "1", "2"), ("lf_link", "lf_short", "lf_long"), ("0", "1"), 5),
    "labels.parquet": (("10", "11", "15"), ("ada", "bo", "cy"), ("0", "1", "2"), 7),
    "train.json": (("1", "2"), ("Ann1", "Ann2", "Ann3", "Ann4"), ("0", "1"), 5),
    "goemotions.csv": (
        tuple(f"{item} / {name}" for item in ("e1", "e2") for name in ("amusement", "anger")),
        ("1", "37"), ("no", "yes"), 6,
    ),
    "raw_data.csv": (("0", "1"), ("0", "1"), ("1", "2", "4"), 3),
    "mqm.tsv": (("Online-A.1574/3", "Online-B.1590/3"), ("rater1", "rater2"), ("Minor", "Major"), 2),
    "judgements.jsonl": (("81/1",), ("author_1", "expert_2"), ("model_a", "model_b", "tie"), 2),
    "arena.csv": (("58ab", "2a5c"), ("arena_user_973",), ("model_a", "model_b", "tie"), 2),
    "pandalm.csv": (("0", "1", "2"), ("p1", "p2"), ("first", "second", "tie"), 3),
    "annotations.json": (("i0", "i1", "i2"), ("claude",), ("generator_1", "generator_2", "tie"), 3),
    "project.json": (("0", "1"), ("1", "2"), ("data.model_a", "data.model_b"), 4),
    "ranked.json": (("r1",), ("0", "1"), ("first", "second"), 2),
    "comparisons.csv": (("a | b", "b | c"), ("w1", "w2"), ("left", "right"), 3),
    "cifar10n.csv": (("1", "2"), ("random_label1", "random_label2", "random_label3"), ("4", "6", "9"), 6),
    "chaosnli.csv": (("19610n", "64538c"), ("anyone",), ("e", "n", "c"), 200),
    "reliability.csv": (("1", "2", "3", "4"), ("A", "B", "C", "D", "E"), ("1", "2", "3", "4"), 16),
    "survey.csv": (("Q1", "Q2", "Q3"), ("P0", "P1", "P2"), ("a", "b"), 9),
    "tokens.csv": (("s1/0", "s1/1"), ("ada", "bo"), ("B-LOC", "O"), 4),
}  # fmt: skip


for file, shape in FILES.items():
    content, _, answers = SHAPES[shape]
    lines = "".join(f"{json.dumps(each)}\n" for each in content) if file.endswith(".jsonl") else json.dumps(content)
    TEXTS[file] = lines
    items, annotators, labels = (tuple(dict.fromkeys(each)) for each in zip(*answers, strict=True))
    EXPECTED[file] = (items, annotators, tuple(sorted(labels)), len(answers))


def read_as_commanded(command, folder):
    """Return what a command of the guide reads, and the name of its file; the file is written first."""
    arguments = shlex.split(command.replace("│", "|"))
    parsed = typer.main.get_group(app).commands[arguments[1]].make_context("", arguments[2:]).params
    name = one_source(parsed["data"])
    if name in TEXTS:
        (folder / name).write_text(TEXTS[name])
    else:
        write_cleanlab(folder / name)
    options = gather_options(**{key: parsed[key] for key in options_of(ReadingForModel) if key in parsed})
    data, _ = read_for(ba.get_model(parsed.get("model", "mace")), str(folder / name), options)
    return data, name


@pytest.mark.parametrize("file", sorted(EXPECTED))
@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")
def test_a_file_is_read_as_what_it_is(tmp_path, file):
    (command,) = (each for each in COMMANDS.values() if f" {file} " in each)
    data, _ = read_as_commanded(command, tmp_path)
    items, annotators, labels, n_annotations = EXPECTED[file]
    assert (data.items, set(data.annotators), data.labels) == (items, set(annotators), labels)
    assert data.n_annotations == n_annotations
    assert data.gold == ({"71": "pos"} if file == "full.csv" else {})


def test_every_command_of_the_guide_has_a_file():
    files = {shlex.split(command.replace("│", "|"))[3 if " fit " in command else 2] for command in COMMANDS.values()}
    assert files == set(EXPECTED)
