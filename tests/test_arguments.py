"""Every public function says in one line that it was given something else than a fit or data."""

import inspect

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.ground.errors import BayesannoError, DataError, FitError, ModelError
from tests.samples import tiny_data

TABLE = pd.DataFrame({"item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": ["yes", "no"]})
OTHER = {"nothing": None, "a path": "answers.csv", "a table": TABLE, "a model": ba.models.MACE()}


def functions_of(first):
    """The public functions whose first argument has this name."""
    public = [getattr(ba, name) for name in ba.__all__]
    functions = [one for one in public if inspect.isfunction(one)]
    return [one for one in functions if next(iter(inspect.signature(one).parameters), "") == first]


def call(function, given):
    """Call it with this as its first argument, and with something for each of the others that it asks for."""
    others = {
        "new_data": tiny_data(), "data": tiny_data(), "path": "x", "folder": "x", "client": None, "cost": {},
        "pair": ("no", "yes"), "than": ("no", "yes"), "chains": [0], "expected": [1, 1],
        "types": 1, "weight": [1], "rate": [0.5],
    }  # fmt: skip
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needed = [one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    return function(given, **{name: others[name] for name in needed})


@pytest.mark.parametrize("given", OTHER)
@pytest.mark.parametrize("function", functions_of("fit"), ids=lambda function: function.__name__)
def test_what_is_no_fit_is_refused(function, given, refuses):
    with refuses(FitError, r"a fit is needed, not (NoneType|str|DataFrame|MACE): what bayesanno\.fit returned, or "):
        call(function, OTHER[given])


@pytest.mark.parametrize("given", OTHER)
@pytest.mark.parametrize("function", functions_of("data"), ids=lambda function: function.__name__)
def test_what_are_no_data_is_refused(function, given, refuses, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refuses(DataError, "."):
        call(function, OTHER[given])


def test_a_table_is_not_data_yet_and_what_reads_it_is_named(refuses):
    with refuses(DataError, r"mace needs AnnotationData .*, not DataFrame: bayesanno\.read_annotations makes it of a"):
        ba.fit("mace", TABLE)
    with refuses(DataError, r"usage_table needs AnnotationData .*, not DataFrame: bayesanno\.read_annotations makes"):
        ba.usage_table(TABLE)
    with refuses(DataError, r"binomial_mixture needs CountData .*, not DataFrame: bayesanno\.read_counts makes it of"):
        ba.fit("binomial_mixture", TABLE)


def test_a_model_is_an_instance_or_a_name(refuses):
    with refuses(ModelError, r"MACE is a class: give a model, MACE\(\), or its name, 'mace'"):
        ba.fit(ba.models.MACE, tiny_data())
    with refuses(ModelError, "a model is needed, by its name or as an instance, not NoneType"):
        ba.fit(None, tiny_data())
    with refuses(ModelError, "fields are list: give a mapping"):
        ba.get_model("mace", ["prevalence_prior"])
    with refuses(ModelError, "there is no model 'MACE': did you mean 'mace'"):
        ba.get_model("MACE")


def test_several_fits_are_a_list_or_have_names(refuses, tiny_fit):
    with refuses(FitError, r"fits is of type DataTree: give a list of fits, as in \[first, second\]"):
        ba.concat_chains(tiny_fit)
    with refuses(FitError, "fits is of type DataTree: give the fits by name"):
        ba.compare(tiny_fit)
    with refuses(FitError, "fits is of type str: give mappings by name, as in"):
        ba.vary_controls(tiny_data(gold={"s1": "yes"}), "mace")


def test_there_are_such_functions():
    assert {"label_table", "save", "plot_annotators"} <= {one.__name__ for one in functions_of("fit")}
    assert {"usage_table", "agreement_table", "write_annotations"} <= {one.__name__ for one in functions_of("data")}
    assert issubclass(DataError, BayesannoError)
