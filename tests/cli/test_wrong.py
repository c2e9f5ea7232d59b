"""Wrong input of any command is one clear line, found before anything takes long, and leaves all files as they were."""

import pytest

import bayesanno as ba
from tests.cli.test_errors import LONG, listing

FILES = {
    "answers.csv": LONG, "empty.csv": "", "one.csv": "item,annotator,label\ns1,a,x\ns1,b,y\n",
    "words.csv": "item,x\ns1,1\n",
    "who.csv": "annotator,answers\na1,many\n", "other.csv": "item,group\nzz,g\n", "gold.csv": "item,gold\nzz,yes\n",
    "tasks.json": "[]", "broken/posterior.nc": "no fit", "odd/run.json": "{", "folder/note.txt": "kept",
}  # fmt: skip
NO_FIT = "there is no fit at"
WRONG = {
    "recalibrate nowhere --out new": NO_FIT,
    "recalibrate broken --out new": "broken/posterior.nc cannot be read as a fit",
    "recalibrate run --out run": "run exists: choose another --out, or --overwrite",
    "recalibrate run --out folder --overwrite": "folder was not written by a run and is not replaced",
    "recalibrate run --out new --gold nowhere.csv": "there is no file 'nowhere.csv'",
    "recalibrate run --out new --gold gold.csv": "gold.csv, line 2: no item of this file, such as 'zz', is in the data",
    "next nowhere": NO_FIT,
    "next run --annotators who.csv": "who.csv, line 2: answers is 'many': it must be a number",
    "next run --items words.csv --out folder --overwrite": "folder is a folder: name a file",
    "next run --out nowhere/ask.csv": "there is no folder",
    "next run --loss empty.csv": "empty.csv is empty: give a table with a header line and rows",
    "next odd --items words.csv": "odd/run.json is not what `bayesanno fit` wrote",
    "groups run --by system": "--by system is neither a file nor a column of the items",
    "groups run --by other.csv": "--by other.csv has no item of the fit",
    "groups run --by words.csv --group y": "words.csv has no column 'y' to use as group",
    "groups run --by other.csv --ci-prob 2": "--ci-prob is 2.0: it must be above 0 and below 1",
    "groups run --by other.csv --figure figure.txt": "the name must end in .png, .pdf or .svg",
    "export run --to paper --out new": "labels cannot be exported to 'paper': choose one of",
    "export run --to doccano --out new": "give the tool's own export, or a table of items, with --tasks",
    "export run --to doccano --out new --tasks tasks.json": "tasks.json has no tasks",
    "export run --to argilla --out new --to-name text": "--to-name does not apply to argilla: leave it out",
    "export run --to prodigy --out answers.csv": "answers.csv exists: choose another --out, or --overwrite",
    "report nowhere": NO_FIT,
    "report run --out folder --overwrite": "folder is a folder: name a file",
    "report run --out nowhere/page.html": "there is no folder",
    "agreement nowhere.csv --out new": "there is no file 'nowhere.csv'",
    "agreement answers.csv --out run": "run exists: choose another --out, or --overwrite",
    "agreement answers.csv --out new --label a --label b": "label names 'a', 'b': name one column",
    "compare one.csv --model mace --model one_coin --method em --out new": "--method em gives one point",
    "compare nowhere.csv --model mace --model one_coin --out new": "there is no file 'nowhere.csv'",
    "sensitivity mace nowhere.csv --out new": "there is no file 'nowhere.csv'",
    "sensitivity mace one.csv --out new --grid strategy_prior": "--grid strategy_prior: write FIELD=V1,V2,...",
    "sensitivity mace one.csv --out new --grid field=1,2": "mace has no field 'field'",
    "sensitivity mace one.csv --out new --resume answers.csv --seed 1": "--resume answers.csv is a file: name a folder",
    "fit mace answers.csv --out new --same no=yes --same no=maybe": "--same no=... is given twice: leave out one",
    "fit mace answers.csv --out new --classifier p": "needs the column 'p[no]' of the items",
    "fit mace answers.csv --out answers.csv/new": "there is no folder",
    "simulate mace --out folder --overwrite": "folder is a folder: name a file",
}  # fmt: skip


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_input_is_one_line_and_changes_no_file(command, tmp_path, tiny_fit, arguments):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "run").mkdir()
    ba.save(tiny_fit, tmp_path / "run/posterior.nc")
    before = listing(tmp_path)
    code, out, err = command(*arguments.split())
    *said, line = err.splitlines()
    assert (code, out) == (1, "")
    assert line.startswith("error: ")
    assert WRONG[arguments] in line
    assert not any("error" in other or "Traceback" in other for other in said)  # how the data were read
    assert listing(tmp_path) == before
