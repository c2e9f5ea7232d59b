"""Wrong input of any other command is one clear line, found before anything takes long, and changes no file."""

import pytest

from tests.cli.within import LONG, listing, run

FILES = {
    "free.csv": "annotator,cost\nviktor,0\n",
    "answers.csv": LONG,
    "pairs.csv": "item,a,b,winner,judge\nq1,x,y,a,ada\nq1,x,y,b,bo\nq2,y,z,a,ada\nq2,y,z,tie,bo\n",
    "alone.csv": "item,annotator,label\ns1,a,x\ns2,b,y\n",
    "words.csv": "item,x\nticket001,1\n",
    "few.csv": "annotator,answers\nviktor,few\n",
    "budget.csv": "annotator,answers\nviktor,5\n",
    "twice.csv": "annotator\nviktor\nviktor\n",
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
    "recalibrate run --out new --gold gold.csv": "gold.csv, line 2: no item of this file, such as 'zz', is in the data",
    "next nowhere": NO_FIT,
    "next run --target all": "target is 'all'",
    "next run --annotators free.csv": "costs of annotator 'viktor' is 0.0: it must be a number above 0",
    "next run --annotators few.csv": "few.csv, line 2: answers is 'few': it must be a number",
    "next run --annotators twice.csv": "twice.csv, line 3: annotator 'viktor' is named twice",
    "next run --annotators budget.csv --per-annotator 2": "budget.csv has a column answers: leave out --per-annotator",
    "next run --items few.csv": "few.csv has no column for the item",
    "next odd --items words.csv": "odd/run.json is not what `bayesanno fit` wrote",
    "next run --loss bare.csv": "bare.csv has no decision",
    "next run --loss bare.csv --utility accuracy": "--utility and --loss both set how",
    "next run --items words.csv --out folder --overwrite": "folder is a folder: name a file",
    "next run --out nowhere/ask.csv": "there is no folder",
    "groups nowhere --by few.csv": "few.csv has no column for the item",  # found before the fit is read
    "groups run --by system": "--by system is neither a file nor a column of the items",
    "groups run --by columns.csv": "columns.csv: no column 'group' among 'item', 'system', 'other'",
    "groups run --by far.csv": "--by far.csv has no item of the fit",
    "groups run --by short.csv --figure a.txt": "--figure a.txt: the name must end in .png, .pdf or .svg",
    "export run --to paper --out new": "labels cannot be exported to 'paper': choose one of",
    "report nowhere": NO_FIT,
    "report run --out folder --overwrite": "folder is a folder: name a file",
}

TWO = "--model mace --model model_b"
OF_DATA = {
    "agreement answers.csv --out new --label a --label b": "agreement reads one label column, not 2: name one",
    "agreement alone.csv --out new": "no item has answers by two annotators: agreement is between at least two",
    "agreement answers.csv --out new --sets": "read with --multi-label",
    "compare answers.csv --model mace --out new": "--model is given 1 time: give two models or more",
    "compare answers.csv --model mace --model mace,strategy_prior=10 --out new": "strategy_prior=10 is the same as",
    "compare answers.csv --model mace,strategy_prior --model model_b --out new": "write FIELD=VALUE, as in --model",
    f"compare answers.csv {TWO} --method em --out new": "--method em gives one point, and models are compared by draws",
    "compare answers.csv --model mace --model easy_hard --method vb --out new": "easy_hard has no VB",
    f"compare answers.csv {TWO} --replicates 5 --out new": "replicates is 5: it must be at least 20",
    f"compare answers.csv {TWO} --draws 100000000 --out new": "would take more than 2 GiB for each model",
    "compare answers.csv --model mace --model binomial_mixture --out new": "binomial_mixture takes other data than",
    "compare answers.csv --model mace --model one_coin --unsure no --labels a,no,yes --out new": "one_coin takes each",
    "compare pairs.csv --model model_b --model model_b,class_prior=learnt --pairs a,b --method vb --out new":
        "model_b has no VB with class_prior=Pairs(...): fit it by nuts",
    "sensitivity mace answers.csv --out new --grid strategy_prior": "--grid strategy_prior: write FIELD=V1,V2,...",
    "sensitivity mace answers.csv --out new --grid strategy_prior=1,,2": "strategy_prior=1,,2 has an empty value",
    "sensitivity mace answers.csv --out new --resume kept": "give --seed as well",
    "sensitivity mace answers.csv --out new --resume old.csv --seed 1": "--resume old.csv is a file: name a folder",
    "sensitivity label_usage answers.csv --class-prior length --out new": "label_usage has no class prior",
}  # fmt: skip

SIMULATED = {
    "mace --out old.csv": "old.csv exists: choose another --out, or --overwrite",
    "mace --out other.csv": "other.json exists: choose another --out, or --overwrite",
    "mace --out new.json": "new.json is where the parameters go: give a name in .csv",
    "one_coin --out new.csv --unsure maybe": "one_coin cannot simulate answers that are no class: leave out --unsure",
    "model_a_multi --out new.csv --dimensions focus,": "a dimension has an empty name",
    "model_a_multi --out new.csv --dimensions a,b,a": "a dimension is named twice among 'a', 'b', 'a'",
}

REFUSED = OF_FITS | OF_DATA | {f"simulate {given}": said for given, said in SIMULATED.items()}


@pytest.fixture(scope="module")
def folder(with_fit):
    """A fit, one that is none, and tables that do not suit it."""
    for name, text in FILES.items():
        (with_fit / name).parent.mkdir(exist_ok=True)
        (with_fit / name).write_text(text)
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
