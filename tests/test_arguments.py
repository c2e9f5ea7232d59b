"""Every public function says in one line that it was given something else than a fit or data."""

import inspect

import arviz as az
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import BayesannoError, DataError, FitError, ModelError
from tests.samples import find_rooms, tiny_data, title_of

TABLE = pd.DataFrame({"item": ["s1", "s1"], "annotator": ["ada", "bo"], "label": ["yes", "no"]})
OTHER = {"nothing": None, "a path": "answers.csv", "a table": TABLE, "a model": ba.models.MACE()}


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
    }  # fmt: skip
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needed = [one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    return function(given, **{name: others[name] for name in needed})


@pytest.mark.parametrize("function", functions_of("fit"), ids=lambda function: function.__name__)
def test_what_is_no_fit_is_refused(function, refuses):
    for given in OTHER.values() if function is ba.label_table else [TABLE]:
        with refuses(FitError, r"a fit is needed, not (NoneType|str|DataFrame|MACE): give the .* bayesanno\.fit"):
            call(function, given)


@pytest.mark.parametrize("function", functions_of("data"), ids=lambda function: function.__name__)
def test_what_are_no_data_is_refused(function, refuses, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in OTHER.values():
        with refuses(DataError, "."):
            call(function, given)


def test_a_table_is_not_data_yet_and_what_reads_it_is_named(refuses):
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


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: ba.fit(ba.models.MACE, tiny_data()), r"MACE is a class: give a model, MACE\(\), or its name, 'mace'"),
        (lambda: ba.fit(None, tiny_data()), "a model is needed, by its name or as an instance, not NoneType"),
        (lambda: ba.get_model("mace", ["prevalence_prior"]), "fields are list: give a mapping"),
        (lambda: ba.get_model("MACE"), "there is no model 'MACE': did you mean 'mace'"),
    ],
)
def test_a_model_is_an_instance_or_a_name(refuses, ask, said):
    with refuses(ModelError, said):
        ask()


def test_several_fits_are_a_list_or_have_names(refuses, tiny_fit):
    with refuses(FitError, "fits is of type DataTree: give the fits by name"):
        ba.compare(tiny_fit)


MADE = {
    "plot_groups": "group_table", "plot_label_power_scaling": "criticism.label_power_scaling",
    "plot_prior": "describe_prior",
    "plot_priors": "sensitivity", "plot_ranks": "sbc",
    "sbc_table": "sbc",
}  # fmt: skip


@pytest.mark.parametrize(("function", "maker"), MADE.items())
def test_what_another_function_makes_is_asked_for_by_its_name(function, maker, refuses):
    with refuses(FitError, rf"what bayesanno\.{maker} returned is needed, not DataFrame"):
        PUBLIC[function](TABLE)
    assert callable(PUBLIC[maker.rpartition(".")[2]])


def test_a_fit_is_not_yet_what_is_made_of_it(refuses, tiny_fit):
    with refuses(FitError, r"what bayesanno\.criticism\.label_power_scaling returned is needed, not DataTree"):
        ba.report.plot_label_power_scaling(tiny_fit)
    with refuses(FitError, r"what bayesanno\.sbc returned is needed, not Dataset without 'ranked'"):
        ba.sbc_table(tiny_fit["posterior"].to_dataset())


def test_there_are_such_functions():
    assert {"label_table", "save", "plot_annotators"} <= {one.__name__ for one in functions_of("fit")}
    assert {"usage_table", "agreement_table", "pair_table"} <= {one.__name__ for one in functions_of("data")}
    named = {"table", "description", "study", "ranks"}
    assert set(MADE) == {one.__name__ for name in named for one in functions_of(name)}
    assert issubclass(DataError, BayesannoError)


OF_TESTS = {"bound_chance_difference", "bound_noise", "bound_noise_of", "noise_posterior", "plan_annotators",
            "plot_ranks", "tolerated_disagreements"}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_an_interval_has_a_probability_by_arviz_name_and_by_default_arviz_own(name):
    defaults = {one.name: one.default for one in inspect.signature(PUBLIC[name]).parameters.values()}
    assert not {"prob", "confidence"} & set(defaults)
    returned = inspect.getdoc(PUBLIC[name]).partition("Returns\n-------")[2].partition("Raises\n------")[0]
    if "ci_kind" in defaults or ("89_lb" in returned and name != "recalibrate"):  # its temperature's is in the fit
        assert "ci_prob" in defaults
    assert defaults.get("ci_kind") is None
    assert defaults.get("ci_prob") == (0.95 if name in OF_TESTS else None)


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
        assert max(map(len, lines)) <= 160
