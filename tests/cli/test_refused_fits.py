"""What `bayesanno fit` cannot do is one line, found before anything is fitted, and leaves all files as they were."""

import io
import sys

import pytest

from bayesanno.inference import settings
from tests.cli.within import LONG

FILES = {
    "answers.csv": LONG,
    "three.csv": LONG + "s2,bo,perhaps\n",
    "pairs.csv": "item,a,b,winner,judge\nq1,x,y,a,ada\nq1,x,y,b,bo\nq2,y,z,a,ada\nq2,y,z,tie,bo\n",
    "tones.csv": "item,annotator,focus,tone,note\ns1,bo,method,+,easy\ns1,ada,method,-,\ns2,ada,,+,\ns2,cy,result,,\n",
    "counts.csv": "item,successes,trials\ns1,1,2\ns2,0,2\ns3,1,1\n",
    "one.csv": "item,annotator,label\n1,a,no\n2,b,no\n",
    "other.csv": "item,label\ns9,yes\n",
    "columns.csv": "item,length\nq1,4\nq2,6\n",
    "truth.csv": "item,gold\ns1,no\n",
    "old/kept.txt": "kept",
    "parts/note.txt": "no table",
}

OF_FILES = {
    "mace one.csv": "only one label, 'no': a model needs at least two",
    "mace answers.csv --label a --label b": "mace reads one label column, not 2: name one, or use model_a_multi",
    "mace answers.csv --labels no --labels yes": "--labels is given 2 times for one label column: give one list",
    "mace answers.csv --labels no,,yes": "--labels: name 2 of 'no', '', 'yes' is empty",
    "mace answers.csv --same no=yes --same no=maybe": "--same no=... is given twice: leave out one",
    "mace answers.csv --add answers.csv": "answers.csv, line 2: ",
    "mace answers.csv --drop-unsure": "--drop-unsure leaves out ",
    "mace answers.csv --out old": "old exists: choose another --out, or --overwrite",
    "mace answers.csv --out old --overwrite": "old was not written by a run",
    "mace answers.csv --out answers.csv/new": "there is no folder",
}

OF_SETTINGS = {
    "model_bb answers.csv": "no model 'model_bb': did you mean 'model_b'",
    "mace answers.csv --set competence_prior=0.5": "it must be 2 numbers (on the command line 0.5:0.5)",
    "mace answers.csv --set strategy_prior": "--set strategy_prior: write FIELD=VALUE",
    "mace answers.csv --draws 0": "draws is 0: it must be at least 4",
    "mace answers.csv --initvals random": "initvals is 'random': it must be one of 'auto', 'vote', 'prior'",
    "mace answers.csv --coverage 0": "coverage is 0.0: it must be above 0 and at most 1",
    "mace answers.csv --seed 99999999999999999999": "seed is 99999999999999999999",
    "mace answers.csv --grades": "the order of the labels 'no', 'yes' is not known",
    "mace answers.csv --bio": "labels are not BIO tags, ",
    "mace answers.csv --recalibrate other.csv": "other.csv, line 2: no item of this file, such as 's9'",
    "easy_hard answers.csv --recalibrate truth.csv": "easy_hard gives item types",
}

OF_COUNTS = {
    "binomial_mixture three.csv": "there are 3 labels, 'no', 'perhaps', 'yes': say with --positive which",
    "binomial_mixture answers.csv --successes x --trials n --unsure no": "name counts: leave out --unsure",
    "binomial_mixture counts.csv --positive yes": "has counts already: leave out --positive",
    "binomial_mixture counts.csv --gold x": "reads counts, without true labels or items: leave out --gold",
    "mace answers.csv --positive yes": "mace takes every label as it is: leave out --positive",
    "mace answers.csv --trials x": "mace reads annotations of one label column: leave out --trials",
}

TWO = "model_a_multi tones.csv --label focus --label tone"
OF_DIMENSIONS = {
    "model_a_multi tones.csv --label focus": "several dimensions need several label columns",
    f"{TWO} --labels +,-": "--labels +,-: write NAME=A,B,... for each label column, as in --labels tone=no,yes",
    f"{TWO} --labels tone=a,b --labels tone=c": "--labels tone=... is given twice: leave out one",
    f"{TWO} --gold note": "of which no answer may be unsure: leave out --gold",
    f"{TWO} --format wide": "reads a long table or an export: leave out --format",
}

PAIRS = "pairs.csv --pairs a,b"
OF_CLASS_PRIORS = {
    f"model_a {PAIRS}": "model_a has no class prior, which --pairs needs: models that have are class_conditional, ",
    f"mace {PAIRS} --set class_prior=uniform": "is given twice, by class_prior=uniform and by --pairs",
    "mace pairs.csv --items columns.csv --class-prior length --set class_prior=learnt": "and by --class-prior",
    "model_b pairs.csv --items columns.csv --class-prior length+(": "Columns: 'length+(' is no formula (",
}

BY_EM = "answers.csv --method em --dask local"
ON_DASK = {
    "mace answers.csv --dask local": "nuts takes data in memory (read_annotations): on a Dask cluster there are em",
    "mace @crowd --method em --dask local": "@crowd is a named data set, which fits into memory: leave out --dask",
    f"mace {BY_EM} --label a --label b": "mace reads one label column, not 2: name one",
    **{f"mace {BY_EM} {given}": f"{given.split()[0]} needs all items in memory: leave it out, or --dask"
       for given in ("--coverage 0.9", "--grades", "--bio", "--recalibrate truth.csv")},
    **{f"mace {BY_EM} {given}": f"--dask reads a long table: leave out {given.split()[0]}"
       for given in ("--controls known.csv", "--gold-file known.csv", "--format wide", "--unsure no", "--pairs a,b",
                     "--class-prior length")},
}  # fmt: skip

BY_THE_LIBRARY = {
    "one_coin three.csv --unsure perhaps": "and 'perhaps' is not one: leave those answers out with --drop-unsure",
    f"model_b {PAIRS} --method em": "model_b has no EM with class_prior=Pairs(...): fit it by nuts",
}

REFUSED = OF_FILES | OF_SETTINGS | OF_COUNTS | OF_DIMENSIONS | OF_CLASS_PRIORS | ON_DASK


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("arguments", REFUSED)
@pytest.mark.usefixtures("no_fit")
def test_a_fit_that_cannot_be_is_one_line_and_changes_no_file(refused, folder, arguments):
    out = "" if "--out" in arguments else " --out run"
    refused(folder, f"fit {arguments}{out}", REFUSED[arguments])


@pytest.mark.parametrize("arguments", BY_THE_LIBRARY)
def test_what_the_library_refuses_is_one_line_and_changes_no_file(refused, folder, arguments):
    refused(folder, f"fit {arguments} --out run", BY_THE_LIBRARY[arguments])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (io.TextIOWrapper(io.BytesIO(b"item,annotator,label\ns1,ada\n")), "standard input, line 2: 2 columns"),
        (io.TextIOWrapper(io.BytesIO()), "standard input is empty"),
        (None, "standard input cannot be read"),
    ],
)
def test_standard_input_that_cannot_be_read_is_one_line(refused, tmp_path, monkeypatch, given, said):
    monkeypatch.setattr(sys, "stdin", given)
    refused(tmp_path, "fit mace - --out run", said)


def test_a_sampler_that_is_not_installed_is_one_line(refused, folder, monkeypatch):
    monkeypatch.setattr(settings, "find_spec", lambda _: None)
    missing = "the sampler 'blackjax' is not installed: pip install 'bayesanno[blackjax]', or use nutpie"
    refused(folder, "fit mace answers.csv --out run --nuts-sampler blackjax", missing)
