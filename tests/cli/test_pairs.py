"""Comparisons and columns of items on the command line: the class prior that options ask for."""

import json

import pytest

import bayesanno as ba

LONG = """item,a,b,winner,judge
q1,x,y,a,ada
q1,x,y,b,bo
q2,y,z,a,ada
q2,y,z,tie,bo
q3,z,x,x,ada
"""
ITEMS = "item,length,p[a],p[b],p[tie]\nq1,4,.5,.3,.2\nq2,6,.5,.3,.2\nq3,9,.2,.6,.2\n"
FIELDS = "--draws 20 --tune 20 --chains 1 --seed 1 --no-report --out run"


@pytest.fixture
def run(command, tmp_path):
    """Run the command in a folder with comparisons and a table of their items."""
    (tmp_path / "x.csv").write_text(LONG)
    (tmp_path / "items.csv").write_text(ITEMS)
    return command


def prior_of(folder):
    found = json.loads((folder / "run" / "run.json").read_text())
    return found["fields"]["class_prior"], found["data"].get("item_columns")


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.IdentifiabilityWarning")
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.MisfitWarning")
def test_options_of_items_are_the_class_prior_of_a_fit(run, tmp_path):
    of_items = ("--items", "items.csv", "--class-prior", "length", "--classifier", "p")
    code, _, err = run("fit", "model_b", "x.csv", "--pairs", "a,b", *of_items, *FIELDS.split())
    assert code == 0, err
    terms, columns = prior_of(tmp_path)
    assert [(term["term"], *list(term.values())[1:2]) for term in terms] == [
        ("Pairs", "a"), ("Columns", "length"), ("Classifier", "p"),
    ]  # fmt: skip
    assert columns["a"] == {"levels": 3, "missing": 0}
    assert columns["length"] == {"mean": pytest.approx(19 / 3), "sd": pytest.approx(2.0548, abs=1e-4), "missing": 0}
    assert "columns a, b, length, p[a], p[b], p[tie]" in err
    assert {"strength", "length", "slope"} <= set(ba.load(tmp_path / "run")["posterior"].data_vars)


@pytest.mark.parametrize(
    ("options", "terms"),
    [("model_b @pairs", ["Pairs"]), ("model_b @pairs --set class_prior=learnt", "learnt"), ("model_a @pairs", None)],
)
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.MisfitWarning")
def test_named_comparisons_need_no_options(run, tmp_path, options, terms):
    code, _, err = run("fit", *options.split(), *FIELDS.split())
    assert code == 0, err
    found = json.loads((tmp_path / "run" / "run.json").read_text())["fields"].get("class_prior")
    assert ([term["term"] for term in found] if isinstance(found, list) else found) == terms


def test_comparisons_are_read_where_there_are_no_strengths(run):
    code, _, err = run(*["agreement", "x.csv", "--pairs", "a,b", "--out", "t.csv"])
    assert code == 0, err
    assert "labels a, b, tie" in err


REFUSED = {
    "no class prior": ("fit model_a x.csv --pairs a,b --out run",
                       "model_a has no class prior, which --pairs needs: models that have are class_conditional, "),
    "a formula": ("fit easy_hard x.csv --class-prior length --out run",
                  "easy_hard has no class prior, which --class-prior needs"),
    "counts": ("fit binomial_mixture x.csv --classifier p --out run",
               "binomial_mixture has no class prior, which --classifier needs"),
    "items of counts": ("fit binomial_mixture x.csv --items items.csv --out run",
                        "binomial_mixture reads counts, without true labels or items: leave out --items"),
    "twice": ("fit mace x.csv --pairs a,b --set class_prior=uniform --out run",
              "the class prior of mace is given twice, by class_prior=uniform and by --pairs: leave one of them out"),
    "learnt": ("fit mace x.csv --items items.csv --class-prior length --set class_prior=learnt --out run",
               "the class prior of mace is given twice, by class_prior=learnt and by --class-prior"),
    "em": ("fit model_b x.csv --method em --pairs a,b --out run",
           "model_b has no EM with class_prior=Pairs(...): fit it by nuts"),
    "dask": ("fit model_b x.csv --method em --class-prior length --dask local --out run",
             "--dask reads a long table: leave out --"),
    "dask pairs": ("fit model_b x.csv --method em --pairs a,b --dask local --out run",
                   "--dask reads a long table: leave out --pairs"),
    "no items": ("fit model_b x.csv --label winner --class-prior length --out run",
                 "Columns needs the column 'length' of the items, and they have no columns: give it with --items"),
    "no formula": ("fit model_b x.csv --items items.csv --class-prior length+( --out run",
                   "Columns: 'length+(' is no formula ("),
    "no column": ("fit model_b x.csv --items items.csv --class-prior 1 --out run", "Columns: '1' names no column"),
    "compare": ("compare x.csv --model model_b --model model_a --pairs a,b --out run",
                "model_a has no class prior, which --pairs needs"),
    "the same": ("compare x.csv --model model_b --model dawid_skene --pairs a,b --out run",
                 "--model dawid_skene is the same as --model model_b"),
    "sensitivity": ("sensitivity label_usage x.csv --class-prior length --out run", "label_usage has no class prior"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_one_line_and_nothing_is_written(run, tmp_path, arguments, message):
    code, out, err = run(*arguments.split())
    assert (code, out) == (1, "")
    assert f"error: {message}" in err.splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_a_comparison_with_and_without_strengths_is_one_of_two_models(run):
    code, _, err = run(
        "compare", "x.csv", "--pairs", "a,b", "--model", "model_b", "--model", "model_b,class_prior=learnt",
        "--method", "vb", "--out", "run",
    )  # fmt: skip
    assert code == 1
    assert "model_b has no VB with class_prior=Pairs(...): fit it by nuts" in err
