"""Wrong input of any other command is one clear line, found before anything takes long, and changes no file."""

import json

import pytest

import bayesanno as ba
from tests.cli.within import LONG, listing, run

FILES = {
    "answers.csv": LONG,
    "pairs.csv": "item,a,b,winner,judge\nq1,x,y,a,ada\nq1,x,y,b,bo\nq2,y,z,a,ada\nq2,y,z,tie,bo\n",
    "alone.csv": "item,annotator,label\ns1,a,x\ns2,b,y\n",
    "empty.csv": "",
    "words.csv": "item,x\nticket001,1\n",
    "few.csv": "annotator,answers\nviktor,few\n",
    "budget.csv": "annotator,answers\nviktor,5\n",
    "free.csv": "annotator,cost\nviktor,0\n",
    "twice.csv": "annotator\nviktor\nviktor\n",
    "costs.csv": "label,keep\nother,much\n",
    "some_costs.csv": "label,keep\nother,1\n",
    "bare.csv": "label\nother\n",
    "short.csv": "item,group\nticket001,g\n",
    "far.csv": "item,group\nzz,g\n",
    "columns.csv": "item,system,other\nticket001,g,x\n",
    "gold.csv": "item,gold\nzz,other\n",
    "broken/posterior.nc": "no fit",
    "odd/run.json": "{",
    "folder/note.txt": "kept",
    "old.csv": "of the time before",
    "other.json": "of the time before",
}

NO_FIT = "there is no fit at nowhere"
OF_FITS = {
    "recalibrate broken --out new": "broken/posterior.nc cannot be read as a fit",
    "recalibrate run --out run": "run exists: choose another --out, or --overwrite",
    "recalibrate run --out folder --overwrite": "folder was not written by a run and is not replaced",
    "recalibrate run --out new --gold nowhere.csv": "there is no file 'nowhere.csv'",
    "recalibrate run --out new --gold gold.csv": "gold.csv, line 2: no item of this file, such as 'zz', is in the data",
    "recalibrate run --out new --coverage 2": "coverage is 2.0: it must be above 0",
    "next nowhere": NO_FIT,
    "next run --target all": "target is 'all'",
    "next run --annotators free.csv": "costs of annotator 'viktor' is 0.0: it must be a number above 0",
    "next run --annotators few.csv": "few.csv, line 2: answers is 'few': it must be a number",
    "next run --annotators twice.csv": "twice.csv, line 3: annotator 'viktor' is named twice",
    "next run --annotators budget.csv --per-annotator 2": "budget.csv has a column answers: leave out --per-annotator",
    "next run --items few.csv": "few.csv has no column for the item",
    "next odd --items words.csv": "odd/run.json is not what `bayesanno fit` wrote",
    "next run --loss empty.csv": "empty.csv is empty: give a table with a header line and rows",
    "next run --loss few.csv": "few.csv has no column for the label",
    "next run --loss costs.csv": "costs.csv, line 2: keep is 'much': it must be a number",
    "next run --loss some_costs.csv": "the cost matrix must have one row per label",
    "next run --loss bare.csv": "bare.csv has no decision",
    "next run --loss bare.csv --utility accuracy": "--utility and --loss both set how",
    "next run --items words.csv --out folder --overwrite": "folder is a folder: name a file",
    "next run --out nowhere/ask.csv": "there is no folder",
    "groups nowhere --by few.csv": "few.csv has no column for the item",  # found before the fit is read
    "groups run --by system": "--by system is neither a file nor a column of the items",
    "groups run --by columns.csv": "columns.csv: no column 'group' among 'item', 'system', 'other'",
    "groups run --by columns.csv --group sistem": "no column 'sistem' to use as group",
    "groups run --by far.csv": "--by far.csv has no item of the fit",
    "groups run --by short.csv --ci-prob 2": "--ci-prob is 2.0: it must be above 0 and below 1",
    "groups run --by short.csv --figure a.txt": "--figure a.txt: the name must end in .png, .pdf or .svg",
    "groups run --by short.csv --out old.csv": "old.csv exists: choose another --out, or --overwrite",
    "export run --to paper --out new": "labels cannot be exported to 'paper': choose one of",
    "export run --to argilla --out new --to-name text": "--to-name does not apply to argilla: leave it out",
    "export run --to doccano --out new": "give the tool's own export, or a table of items, with --tasks",
    "export run --to prodigy --out new --tasks none.jsonl": "there is no file 'none.jsonl'",
    "export run --to prodigy --out old.csv": "old.csv exists: choose another --out, or --overwrite",
    "report nowhere": NO_FIT,
    "report folder": "there is no fit at folder",
    "report run --out folder --overwrite": "folder is a folder: name a file",
    "report run --out nowhere/page.html": "there is no folder",
    "report run --out old.csv": "old.csv exists: choose another --out, or --overwrite",
    "report newer": "newer/posterior.nc was written by bayesanno 99.1, but this is ",
    "report incomplete": "the data of this fit are incomplete: No variable named 'annotation_annotator'",
    "report no_draws": "this is not a fit by bayesanno: it lacks posterior",
}

TWO = "--model mace --model model_b"
OF_DATA = {
    "agreement nowhere.csv --out new": "there is no file 'nowhere.csv'",
    "agreement answers.csv --out run": "run exists: choose another --out, or --overwrite",
    "agreement answers.csv --out new --label a --label b": "label names 'a', 'b': name one column",
    "agreement alone.csv --out new": "no item has two annotations: agreement is between at least two",
    "agreement answers.csv --out new --resamples -1": "resamples is -1: it must be 0 or more",
    "agreement answers.csv --out new --seed -1": "--seed is -1",
    "agreement answers.csv --out new --sets": "read with --multi-label",
    "agreement @crowd --out new --ordered": "declare them from the lowest to the highest with --labels",
    f"compare nowhere.csv {TWO} --out new": "there is no file 'nowhere.csv'",
    f"compare answers.csv {TWO} --out folder": "folder exists: choose another --out, or --overwrite",
    "compare answers.csv --model mace --out new": "--model is given 1 time: give two models or more",
    "compare answers.csv --model mace --model mace,strategy_prior=10 --out new": "strategy_prior=10 is the same as",
    "compare answers.csv --model model_b --model dawid_skene --out new": "--model dawid_skene is the same as",
    "compare answers.csv --model mace,strategy_prior --model model_b --out new": "write FIELD=VALUE, as in --model",
    f"compare answers.csv {TWO} --method em --out new": "--method em gives one point, and models are compared by draws",
    "compare answers.csv --model mace --model easy_hard --method vb --out new": "easy_hard has no VB",
    f"compare answers.csv {TWO} --replicates 5 --out new": "replicates is 5: it must be at least 20",
    f"compare answers.csv {TWO} --draws 100000000 --out new": "would take more than 2 GiB for each model",
    "compare answers.csv --model mace --model binomial_mixture --out new": "binomial_mixture takes other data than",
    "compare answers.csv --model mace --model one_coin --unsure no --labels a,no,yes --out new": "one_coin takes each",
    "compare pairs.csv --model model_b --model model_b,class_prior=learnt --pairs a,b --method vb --out new":
        "model_b has no VB with class_prior=Pairs(...): fit it by nuts",
    "sensitivity mace nowhere.csv --out new": "there is no file 'nowhere.csv'",
    "sensitivity mace answers.csv --out new --grid strategy_prior": "--grid strategy_prior: write FIELD=V1,V2,...",
    "sensitivity mace answers.csv --out new --grid strategy_prior=1,,2": "strategy_prior=1,,2 has an empty value",
    "sensitivity mace answers.csv --out new --grid field=1,2": "mace has no field 'field'",
    "sensitivity mace answers.csv --out new --draws 0": "draws is 0",
    "sensitivity mace answers.csv --out new --resume kept": "give --seed as well",
    "sensitivity mace answers.csv --out new --resume old.csv --seed 1": "--resume old.csv is a file: name a folder",
    "sensitivity label_usage answers.csv --class-prior length --out new": "label_usage has no class prior",
}  # fmt: skip

SIMULATED = {
    "mace --out old.csv": "old.csv exists: choose another --out, or --overwrite",
    "mace --out other.csv": "other.json exists: choose another --out, or --overwrite",
    "mace --out new.json": "new.json is where the parameters go: give a name in .csv",
    "mace --out folder --overwrite": "folder is a folder: name a file",
    "mace --out no/new.csv": "no to write new.csv into",
    "mace --out new.csv --seed -1": "seed is -1",
    "mace --out new.csv --set strategy_prior=0": "strategy_prior is 0: it must be a number > 0",
    "one_coin --out new.csv --unsure maybe": "one_coin cannot simulate answers that are no class: leave out --unsure",
    "model_a_multi --out new.csv --dimensions focus": "needs at least two dimensions, not 1",
    "model_a_multi --out new.csv --dimensions a,b,a": "a dimension is named twice among 'a', 'b', 'a'",
    "model_a_multi --out new.csv --dimensions focus,": "a dimension has an empty name",
}

REFUSED = OF_FITS | OF_DATA | {f"simulate {given}": said for given, said in SIMULATED.items()}


def newer(fit):
    fit.attrs["versions"] = json.dumps(json.loads(fit.attrs["versions"]) | {"bayesanno": "99.1"})


def incomplete(fit):
    fit["constant_data"] = fit["constant_data"].to_dataset().drop_vars("annotation_annotator")


def no_draws(fit):
    del fit["posterior"]


@pytest.fixture(scope="module")
def folder(with_fit):
    """A fit, and others that are none; and tables that do not suit it."""
    for name, text in FILES.items():
        (with_fit / name).parent.mkdir(exist_ok=True)
        (with_fit / name).write_text(text)
    whole = ba.load(with_fit / "run")
    for change in (newer, incomplete, no_draws):
        fit = whole.copy()
        change(fit)
        (with_fit / change.__name__).mkdir()
        ba.save(fit, with_fit / change.__name__ / "posterior.nc")
    return with_fit


@pytest.mark.parametrize("arguments", REFUSED)
@pytest.mark.usefixtures("no_fit")
def test_wrong_input_is_one_line_and_changes_no_file(refused, folder, arguments):
    refused(folder, arguments, REFUSED[arguments])


@pytest.mark.parametrize("arguments", ["fit mace", "simulate mace --out new.csv --per-item few", "next run --batch 0"])
def test_what_the_parser_refuses_has_another_exit_code(folder, arguments):
    before = listing(folder)
    code, out, err = run(folder, *arguments.split())
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    assert listing(folder) == before
