"""The commands of the guide read files of the shapes that they are for, as what they are.

Each file has the columns or fields of a public one, and a few made-up rows.
"""

import csv
import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
import typer

import bayesanno as ba
from bayesanno._core.errors import NamesWarning
from bayesanno.cli.app import app
from bayesanno.cli.for_model import read_for
from bayesanno.cli.options import ReadingForModel, gather_options
from tests.io.exports.shapes import FILES, SHAPES

GUIDE = Path(__file__).parents[2] / "notebooks" / "guide.md"
COMMANDS = dict(
    re.findall(r"^\| ([^|]*?) \| `(bayesanno (?:fit|agreement) .*?)` \|$", GUIDE.read_text().replace("\\|", "│"), re.M)
)


def write_csv(path, rows, **options):
    with path.open("w", newline="") as file:
        csv.writer(file, **options).writerows(rows)


def write_mturk(path):
    header = [
        "HITId",
        "HITTypeId",
        "Title",
        "WorkerId",
        "AssignmentStatus",
        "Input.text",
        "Answer.mood",
        "Approve",
        "Reject",
    ]
    rows = [["H1", "T", "Moods", who, "Submitted", "so, so", mood] for who, mood in [("W1", "good"), ("W2", "bad")]]
    write_csv(path, [header, *rows], quoting=csv.QUOTE_ALL)


def write_crowdflower(path):
    header = (
        "_unit_id,_created_at,_golden,_id,_missed,_started_at,_tainted,_channel,_trust,_worker_id,_country,_region,_city,"
        "_ip,sentiment,sentiment_gold,text"
    )
    cells = ["5/1/2015 09:02", "false", "1600", "", "5/1/2015 09:01", "false", "elite", "0.9"]
    rows = [
        [unit, *cells, who, "USA", "TX", "Austin", "1.2.3.4", label, gold, f"text of {unit}"]
        for unit, who, label, gold in [(71, 9, "pos", "pos"), (71, 8, "neg", "pos"), (72, 9, "neg", "")]
    ]
    write_csv(path, [header.split(","), *rows])


def write_zooniverse(path):
    header = (
        "classification_id,user_name,user_id,user_ip,workflow_id,workflow_name,workflow_version,created_at,gold_standard,"
        "expert,metadata,annotations,subject_data,subject_ids"
    )
    rows = []
    for number, (who, kind) in enumerate([("ada", "Lion"), ("not-logged-in-1", "Zebra")]):
        tasks = [
            {"task": "T0", "task_label": "What is it?", "value": kind},
            {"task": "T1", "task_label": "How many?", "value": "1"},
        ]
        cells = ["", "ip", 1, "Animals", "1.1", "2020-01-01 UTC", "", "", "{}", json.dumps(tasks), "{}", 71]
        rows.append([number, who, *cells])
    write_csv(path, [header.split(","), *rows])


def write_toloka(path):
    header = ["INPUT:image", "OUTPUT:result", "GOLDEN:result", "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id"]
    rows = [["a.png", "cat", "", "t1", "w1"], ["a.png", "dog", "", "t1", "w2"]]
    write_csv(path, [header, *rows], delimiter="\t")


def write_lewidi(path):
    entry = {
        "text": "so", "annotation task": "hate speech", "number of annotations": 3, "lang": "en", "hard_label": "0",
        "soft_label": {"0": 0.67, "1": 0.33}, "split": "dev", "other_info": {},
    }  # fmt: skip
    said = {"1": ("Ann1,Ann2,Ann3", "0,1,0"), "2": ("Ann2,Ann4", "1,1")}
    path.write_text(
        json.dumps({key: entry | {"annotators": who, "annotations": what} for key, (who, what) in said.items()})
    )


def write_goemotions(path):
    emotions = ["admiration", "amusement", "anger"]
    header = "text,id,author,subreddit,link_id,parent_id,created_utc,rater_id,example_very_unclear"
    rows = [
        [f"text of {item}", item, "ann", "pics", "t3_x", "t1_y", "1548381039.0", rater, "False", *flags]
        for item, rater, flags in [("e1", 1, (0, 0, 1)), ("e1", 37, (0, 1, 1)), ("e2", 37, (0, 0, 0))]
    ]
    write_csv(path, [[*header.split(","), *emotions], *rows])


def write_popquorn(path):
    header = ["instance_id", "user_id", "text", "offensiveness", "gender", "age", "occupation"]
    rows = [
        [item, who, "so", score, "Woman", "30-34", "Employed"] for item, who, score in [(0, 0, 1), (0, 1, 4), (1, 0, 2)]
    ]
    write_csv(path, [header, *rows])


def write_mqm(path):
    lines = ["system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"]
    for system, rater, severity in [("Online-A.1574", "rater1", "Minor"), ("Online-B.1590", "rater2", "Major")]:
        lines.append(f'{system}\tbbc.1\t1\t3\t{rater}\t"Yes" he said\t"Ja sagte er\tFluency/Grammar\t{severity}')
    path.write_text("\n".join(lines) + "\n")


def write_mt_bench(path):
    talk = [{"content": "Hello", "role": "user"}]
    pairs = [("author_1", "model_a"), ("expert_2", "tie")]
    path.write_text(
        "\n".join(
            json.dumps(
                {"question_id": 81, "model_a": "alpaca", "model_b": "gpt", "winner": winner, "judge": judge}
                | {"conversation_a": talk, "conversation_b": talk, "turn": 1}
            )
            for judge, winner in pairs
        )
    )


def write_cleanlab(path):
    pd.DataFrame({"ada": [0, 1, None], "bo": [0, None, 2], "cy": [1, 1, 2]}, index=[10, 11, 15]).to_parquet(path)


TEXTS = {
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
    "annotations.json": json.dumps(
        [
            {
                "instruction": f"i{n}",
                "generator_1": "gpt4",
                "generator_2": "llama",
                "annotator": "claude",
                "preference": said,
                "raw_completion": {"text": "2"},
            }
            for n, said in enumerate((2.0, 1.0, 0))
        ]
    ),
    "project.json": json.dumps(
        [
            {
                "id": n,
                "data": {"model_a": "x", "model_b": "y"},
                "annotations": [
                    {"completed_by": who, "result": [{"type": "pairwise", "value": {"selected": said}}]}
                    for who, said in ((1, "left"), (2, "right"))
                ],
            }
            for n in range(2)
        ]
    ),
    "ranked.json": json.dumps(
        [
            {
                "id": "r1",
                "responses": [
                    {
                        "user_id": who,
                        "values": {
                            "ranking": {"value": [{"value": "a", "rank": 1 + who}, {"value": "b", "rank": 2 - who}]}
                        },
                    }
                    for who in (0, 1)
                ],
            }
        ]
    ),
    "comparisons.csv": "worker,left,right,label\nw1,a,b,a\nw2,a,b,b\nw1,b,c,c\n",
    "tokens.csv": "text,token,annotator,label\ns1,0,ada,B-LOC\ns1,1,ada,O\ns1,0,bo,O\ns1,1,bo,O\n",
}
WRITERS = {
    "batch.csv": write_mturk, "full.csv": write_crowdflower, "classifications.csv": write_zooniverse,
    "pool.tsv": write_toloka, "train.json": write_lewidi, "goemotions.csv": write_goemotions,
    "raw_data.csv": write_popquorn, "mqm.tsv": write_mqm, "judgements.jsonl": write_mt_bench,
    "labels.parquet": write_cleanlab,
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
    "mqm.tsv": (("Online-A.1574/3", "Online-B.1590/3"), ("rater1", "rater2"), ("Major", "Minor"), 2),
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
    name = parsed["data"]
    if name in TEXTS:
        (folder / name).write_text(TEXTS[name])
    else:
        WRITERS[name](folder / name)
    options = gather_options(**{key: parsed[key] for key in ReadingForModel.__annotations__ if key in parsed})
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


def test_every_command_of_the_guide_has_a_file():
    files = {shlex.split(command.replace("│", "|"))[3 if " fit " in command else 2] for command in COMMANDS.values()}
    assert files == set(EXPECTED)


def test_a_gold_column_of_crowdflower_is_read(tmp_path):
    (command,) = (each for each in COMMANDS.values() if " full.csv " in each)
    assert read_as_commanded(command, tmp_path)[0].gold == {"71": "pos"}


def test_the_labels_of_snorkel_without_the_option(tmp_path):
    (tmp_path / "lfs.csv").write_text(TEXTS["lfs.csv"])
    with pytest.warns(NamesWarning, match="'-1' may stand for missing answers"):
        ba.read_annotations(tmp_path / "lfs.csv", columns="lf_*")
