"""Every public function says in one line that it was given something else than a fit or data."""

import inspect

import arviz as az
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError, ModelError
from tests.samples import find_rooms, tiny_data, title_of

TABLE = pd.DataFrame({"item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": ["yes", "no"]})
PUBLIC = {
    name: getattr(room, name)
    for room in find_rooms()
    for name in room.__all__
    if inspect.isfunction(getattr(room, name))
}


def functions_of(first):
    """The public functions whose first argument has this name."""
    return [one for one in PUBLIC.values() if next(iter(inspect.signature(one).parameters), "") == first]


def call(function, given):
    """Call it with this as its first argument, and with something for each of the others that it asks for."""
    others = {
        "new_data": tiny_data(), "data": tiny_data(), "path": "x", "folder": "x", "client": None, "cost": {},
        "pair": ("no", "yes"), "than": ("no", "yes"), "chains": [0], "expected": [1, 1],
        "types": 1, "weight": [1], "rate": [0.5], "n": 1, "groups": {}, "source": TABLE, "to": "label-studio",
        "table": TABLE,
    }  # fmt: skip
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needed = [one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    return function(given, **{name: others[name] for name in needed})


def test_what_is_no_fit_or_no_data_is_refused(refuses, tmp_path, monkeypatch):
    """By every function; which other thing it is makes a difference for one alone."""
    monkeypatch.chdir(tmp_path)
    for first, error, match in (("fit", FitError, "a fit is needed, not DataFrame"), ("data", DataError, ".")):
        functions = functions_of(first)
        assert len(functions) > 10
        for function in functions:
            with refuses(error, match):
                call(function, TABLE)
    for thing in (None, "answers.csv", ba.models.MACE()):
        with refuses(FitError, f"a fit is needed, not {type(thing).__name__}: give the result of"):
            ba.label_table(thing)
        with refuses(DataError, "."):
            ba.usage_table(thing)
    with refuses(DataError, r"AnnotationData .*, not DataFrame: read a table with bayesanno\.read_annotations"):
        ba.usage_table(TABLE)
    with refuses(DataError, r"MultiAnnotationData .*: read a table with bayesanno\.read_multi_annotations"):
        ba.fit("model_a_multi", TABLE)


@pytest.mark.filterwarnings("ignore::bayesanno.errors.NamesWarning")  # an answer is there twice
def test_a_fit_reads_what_is_no_data_yet(refuses, tmp_path):
    settings = {"method": "em", "method_options": {"restarts": 1}, "check": False, "random_seed": 1}
    settings |= {"progressbar": False}
    data = tiny_data()
    data.to_frame().to_csv(tmp_path / "tiny.csv", index=False)
    for source in (data.to_frame(), tmp_path / "tiny.csv", data.to_frame().to_dict("records")):
        assert ba.data_of(ba.fit("one_coin", source, **settings)).to_frame().equals(data.to_frame())
    with refuses(DataError, "has no column for the successes"):
        ba.fit("binomial_mixture", TABLE)


def test_a_model_is_an_instance_or_a_name(refuses):
    for ask, match in (
        (lambda: ba.fit(ba.models.MACE, tiny_data()), "MACE is a class"),
        (lambda: ba.fit(None, tiny_data()), "not NoneType"),
        (lambda: ba.get_model("mace", ["prevalence_prior"]), "give a mapping"),
        (lambda: ba.get_model("MACE"), "did you mean 'mace'"),
    ):
        with refuses(ModelError, match):
            ask()


MADE = {
    "plot_groups": "group_table", "plot_label_power_scaling": "criticism.label_power_scaling",
    "plot_prior": "describe_prior",
    "plot_priors": "sensitivity", "plot_ranks": "sbc",
    "sbc_table": "sbc",
}  # fmt: skip


@pytest.mark.parametrize(("function", "maker"), MADE.items())
def test_what_another_function_makes_is_asked_for_by_its_name(function, maker, tiny_fit, refuses):
    for given in (None, TABLE, tiny_fit["posterior"].to_dataset()):
        with refuses(FitError, rf"what bayesanno\.{maker} returned is needed, not {type(given).__name__}"):
            PUBLIC[function](given)
    assert callable(PUBLIC[maker.rpartition(".")[2]])


OF_TESTS = {"bound_chance_difference", "bound_noise", "bound_noise_of", "noise_posterior", "plan_annotators",
            "plot_ranks", "tolerated_disagreements"}  # fmt: skip


def test_intervals_have_the_options_and_the_defaults_of_arviz():
    for name, function in PUBLIC.items():
        parameters, doc = inspect.signature(function).parameters, inspect.getdoc(function)
        defaults = {one.name: one.default for one in parameters.values()}
        assert not {"prob", "confidence"} & set(parameters)
        returned = doc.partition("Returns\n-------")[2].partition("Raises\n------")[0]
        if "ci_kind" in parameters or ("89_lb" in returned and name != "recalibrate"):  # whose is kept in the fit
            assert "ci_prob" in parameters
        assert defaults.get("ci_kind") is None
        assert defaults.get("ci_prob") == (0.95 if name in OF_TESTS else None), name


def test_one_line_changes_the_intervals_of_tables_and_figures(tiny_fit):
    data = ba.data_of(tiny_fit)
    with az.rc_context({"stats.ci_prob": 0.5, "stats.ci_kind": "hdi"}):
        assert "competence_hdi50_lb" in ba.annotator_table(tiny_fit)
        assert "ci50_lb" in ba.agreement_table(data, resamples=0)
        assert "ci50_lb" in ba.calibration_table(tiny_fit)
        title = title_of(ba.plot_annotators(tiny_fit).axes[0])
    assert title.endswith("50% interval of highest density")
    assert "competence_eti89_lb" in ba.annotator_table(tiny_fit)


def test_a_text_is_one_name(tiny_fit):
    for asked in (
        lambda who: ba.compare_annotators(tiny_fit, who),
        lambda who: ba.suggest_annotations(tiny_fit, 1, annotators=who, random_seed=1),
        lambda who: ba.plot_confusion(tiny_fit, who).axes[0].get_title(loc="left"),
        lambda who: ba.make_design(items=3, annotators=who, labels=2, per_item=1, random_seed=1).annotators,
    ):
        one, several = asked("ada"), asked(["ada"])
        assert one.equals(several) if isinstance(one, pd.DataFrame) else one == several


def test_what_is_made_is_printed_in_ten_lines(tiny_fit):
    made = (
        ba.predictive_check(tiny_fit, replicates=20, random_seed=1),
        ba.describe_prior("model_b", tiny_data(), draws=20, random_seed=1),
        ba.sensitivity(
            "one_coin", tiny_data(), {"accuracy_prior": [(right, 1) for right in range(3, 12)]},
            method="em", random_seed=1, progressbar=False,
        ),
    )  # fmt: skip
    for one in made:
        lines = repr(one).splitlines()
        assert lines[0].startswith(type(one).__name__)
        assert 3 <= len(lines) <= 10
