"""Findings: each rule has a case in which it is found and one in which it is silent; a fit keeps them."""

import dataclasses
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import bayesanno as ba
from bayesanno.fits.view import view_of
from bayesanno.inference.diagnosis.findings import (
    COLUMNS,
    OF_RATINGS,
    find_before,
    find_in_design,
    find_in_diagnostics,
    read_findings,
)
from bayesanno.modeling.class_prior import terms_of
from bayesanno.modeling.findings import LEVELS, Finding, read_rules
from bayesanno.models import (
    MACE,
    BinomialMixture,
    DiligentLazy,
    HierarchicalDawidSkene,
    ItemDifficulty,
    ModelA,
    ModelB,
    OneCoin,
    OrdinalDawidSkene,
    SharedErrors,
)
from tests.models.test_repeated_labels import crowd_with_habits

SOURCES = [*Path(ba.__path__[0]).rglob("*.py"), *(Path(ba.__path__[0]).parent / "models").glob("*.py")]
QUICK = {"method": "vb", "random_seed": 1, "progressbar": False}

# ------------------------------------------------------------------------------------------------ cases of diagnostics

CLIMB = {"method": "EM", "converged": True, "restarts": 3, "agreed": 2, "steps": 9, "change": 0.1, "others": []}
FAR, NEAR = {"nats_lower": 2.5, "items_differ": 0}, {"nats_lower": 2.5, "items_differ": 3}
WELL = {"max_rhat": 1.002, "min_ess_bulk": 900.0, "min_ess_tail": 900.0, "worst": {}}
SMALL = {"name": "c", "dim": "true_class", "items": 1.0}
RARE = WELL | {"max_rhat": 1.4, "classes": [SMALL], "n_items": 100, "rest": WELL, "differ": 5, "named": ["i1"]}
COMBINED = {"unsampled": 0.0, "n_effective": 900.0, "modes": []}
ERRORS = {"correlation": 0.3, "expected": 0.0, "z": 9.0, "p": 0.0099, "n_answers": 10.0, "worth": 2.7}
VOTES = {"spread": 9.0, "p": 0.0099, "at_most": "0 x cat", "observed": 0.36, "predicted": 0.42}
CLOSE = {"annotators": ["ada", "bo"], "group": ["ada", "bo", "cy"], "share": 0.3, "n": 50, "correlation": 0.7}
PAIRS = {"n": 45, "close": 2, "groups": [CLOSE]}
FOLLOWED = {"who": ["ada", "bo"], "same": 0.9, "explained": 0.3, "z": 9.0}
WHO = {"dimension": "", "annotator": "bo", "n_annotations": 90, "probability": 0.97}
GOLD = {"n": 100, "expected": 5.0, "made": 20.0, "p": 1e-6, "vote": 9.0, "p_vote": 0.01}


def mode(probability, chains, **more):
    return {"probability": probability, "chains": chains, "draws": 5 * len(chains), "items_differ": 9} | more


def modes(*found, **more):
    of_search = {"n_starts": 21, "unfinished": 0, "rough": False, "lost": [], "crossing": [], "n_items": 100}
    return {"modes": of_search | {"found": list(found)} | more}


def answers(**found):
    return {"misfit": [{"dimension": "", **found}]}


def uneven(beyond, z):
    return answers(errors=ERRORS | {"p": 0.5, "unevenness": {"observed": 0.02 + beyond, "expected": 0.02, "z": z}})


DIAGNOSED = {  # by code: diagnostics in which it is found, and others in which it is not
    "rhat": ({"max_rhat": 1.02}, {"max_rhat": 1.01}),
    "ess": ({"min_ess_tail": 399.0}, {"min_ess_tail": 400.0}),
    "one-chain": ({"n_chains": 1}, {"n_chains": 2}),
    "divergences": ({"divergences": 1}, {"divergences": 0}),
    "max-treedepth": ({"maxdepth_reached": 21, "n_draws": 400}, {"maxdepth_reached": 20, "n_draws": 400}),
    "bfmi": ({"min_bfmi": 0.29}, {"min_bfmi": 0.3}),
    "pareto-k": ({"pareto_k": 0.71}, {"pareto_k": 0.7}),
    "pareto-k-unknown": ({"pareto_k": None}, {}),
    "advi-steps": ({"converged": False, "steps": 100}, {"converged": True, "steps": 100}),
    "em-steps": ({"climb": CLIMB | {"converged": False}}, {"climb": CLIMB}),
    "em-one-best": ({"climb": CLIMB | {"agreed": 1, "others": [FAR]}}, {"climb": CLIMB | {"others": [FAR]}}),
    "vb-other-mode": (
        {"climb": CLIMB | {"elbo": -1.0, "others": [NEAR]}},
        {"climb": CLIMB | {"elbo": -1.0, "others": [FAR, NEAR | {"nats_lower": 3.5}]}},
    ),
    "rare-label": ({"max_rhat": 1.4, "rare": RARE}, {"max_rhat": 1.4}),
    "chains-label-differently": ({"rare": RARE | {"differ": 6}}, {"rare": RARE}),
    "modes-apart": (
        modes(mode(0.6, [0, 1, 3]), mode(0.4, [2]), groups=[[0, 1, 3], [2]]) | {"max_rhat": 1.2},
        modes(mode(0.6, [0, 1, 3]), mode(0.4, [2]), groups=[[0, 1, 2, 3]], crossing=[2]) | {"max_rhat": 1.2},
    ),
    "mode-unsampled": (modes(mode(0.9, [0, 1]), mode(0.1, [])), modes(mode(0.99, [0, 1]), mode(0.01, []))),
    "mode-light": (
        modes(mode(0.99, [0]), mode(0.01, [1]), groups=[[0], [1]]),
        modes(mode(0.99, []), mode(0.01, [1]), groups=[[1]]),
    ),
    "mode-doubtful": (
        modes(mode(0.99, [0]), mode(0.01, [1]), groups=[[0], [1]], log_density=[-10.0, -9.0]),
        modes(mode(0.99, [0]), mode(0.01, [1]), groups=[[0], [1]], log_density=[-10.0, -11.0]),
    ),
    "modes-unweighed": (
        modes(groups=[[0, 1], [2]], log_density=[-10.0, -10.0, -22.0]) | {"max_rhat": 1.5},
        modes(groups=[[0, 1], [2]]) | {"max_rhat": 1.005},
    ),
    "mode-higher": (modes(higher=27.0), modes(higher=None)),
    "search-incomplete": (modes(unfinished=3), modes(unfinished=3) | {"max_rhat": 1.005}),
    "chain-alone": (
        modes(groups=[[0], [1, 2]], within=[WELL | {"chains": [0], "max_rhat": None}]),
        modes(groups=[[0, 3], [1, 2]], within=[WELL | {"chains": [0, 3]}]),
    ),
    "combination-unsampled": ({"combination": COMBINED | {"unsampled": 0.02}}, {"combination": COMBINED}),
    "combination-ess": ({"combination": COMBINED | {"n_effective": 399.0}}, {"combination": COMBINED}),
    "combination-rough": (
        {"combination": COMBINED | {"modes": [{"n_draws": 0, "by": "importance", "reason": "few draws"}]}},
        {"combination": COMBINED | {"modes": [{"n_draws": 0, "by": "bridge", "reason": ""}]}},
    ),
    "errors-correlate": (answers(errors=ERRORS), answers(errors=ERRORS | {"worth": 9.5})),
    "votes-off": (answers(votes=VOTES), answers(votes=VOTES | {"p": 0.0100001})),
    "copies": (answers(pairs=PAIRS), answers(pairs=PAIRS | {"close": 0, "groups": []})),
    "most-err-together": (answers(pairs={"groups": [CLOSE | {"share": 0.51}]}), answers(pairs=PAIRS)),
    "items-differ": (uneven(0.06, 2.4), uneven(0.06, 2.3)),
    "statistic-off": (
        answers(statistics={"unanimous": {"spread": 4.0, "p": 0.0099}, "label_counts": {"spread": 1.0, "p": 0.5}}),
        answers(statistics={"unanimous": {"spread": 4.0, "p": 0.026}, "label_counts": {"spread": 1.0, "p": 0.5}}),
    ),
    **{
        code: (
            answers(statistics={"slopes": {"spread": 4.0, "p": 0.0099, "rule": code}}),
            answers(statistics={"slopes": {"spread": 4.0, "p": 0.051, "rule": code}}),
        )
        for code in OF_RATINGS
    },
    "labels-follow": (answers(followed=FOLLOWED), answers(followed=FOLLOWED | {"explained": 0.86})),
    "labels-overconfident": (
        answers(votes=VOTES, adjustment={"expected_errors": [9.0, 14.0], "weight": 0.0}),
        answers(votes=VOTES, adjustment={"expected_errors": [99.0, 104.0], "weight": 0.5}),
    ),
    "spammer": ({"chance": {"spammers": [WHO]}}, {"chance": {"spammers": [], "adversaries": [WHO]}}),
    "adversary": ({"chance": {"adversaries": [WHO]}}, {"chance": {"spammers": [WHO], "adversaries": []}}),
    "labels-contradict-gold": ({"gold": {"": GOLD}}, {"gold": {"": GOLD | {"n": 19}}}),
    "vote-is-better": ({"gold": {"": GOLD}}, {"gold": {"": GOLD | {"p_vote": 0.05}}}),
}


@pytest.mark.parametrize("code", DIAGNOSED)
def test_diagnostics_beyond_a_threshold_are_found_and_others_are_not(code):
    beyond, within = DIAGNOSED[code]
    assert code in {one.code for one in find_in_diagnostics(beyond)}
    assert code not in {one.code for one in find_in_diagnostics(within)}


def test_a_cause_is_named_once():
    """Copies explain what else is off if they are most of the correlation of errors; half of six pairs are too few."""
    off = {"errors": ERRORS, "votes": VOTES}
    few = PAIRS | {"groups": [CLOSE | {"share": 0.1}]}
    for pairs, codes in ((PAIRS | {"groups": [CLOSE | {"share": 0.75}]}, {"most-err-together"}),
                         (PAIRS | {"groups": [CLOSE | {"share": 0.5}]}, {"copies", "errors-correlate"}),
                         (few, {"copies", "errors-correlate"})):  # fmt: skip
        assert {one.code for one in find_in_diagnostics(answers(**off, pairs=pairs))} == codes
    one_annotator = ba.AnnotationData.from_records([("1", "ada", "x"), ("2", "bo", "y")])
    assert [one.code for one in find_before(ItemDifficulty(), one_annotator)] == [
        "design-one-answer",
        "design-few-annotators",
    ]
    low = {"max_rhat": 1.3, "min_ess_bulk": 10.0, "min_ess_tail": 20.0}
    assert [one.code for one in find_in_diagnostics(low)] == ["rhat"]
    (ess,) = find_in_diagnostics(low | {"max_rhat": 1.0})
    assert ess.message.startswith("The bulk ESS")


def codes_of(*found, max_rhat=1.2, **more):
    diagnostics = modes(*found, groups=[one["chains"] for one in found if one["chains"]], **more)
    return [one.code for one in find_in_diagnostics(diagnostics | {"max_rhat": max_rhat}) if one.code != "rhat"]


def test_modes_that_chains_cross_between_or_that_label_alike_are_no_alarm():
    both = mode(0.6, [0, 1, 3]), mode(0.4, [2])
    assert codes_of(*both) == ["modes-apart"]
    assert codes_of(*both, max_rhat=1.005) == []
    assert codes_of(both[0], mode(0.4, [2], items_differ=1)) == []
    assert codes_of(both[0], mode(0.4, [2], items_differ=1, classes={"no": "yes", "yes": "no"})) == ["modes-apart"]
    one = mode(0.6, [0, 1, 2, 3]), mode(0.4, [])
    assert codes_of(*one, max_rhat=1.005) == ["mode-unsampled"]
    assert codes_of(*one, max_rhat=1.005, crossing=[1]) == ["mode-unsampled"]  # no draw of twenty in such a mode
    few = mode(0.6, [0, 1, 2, 3], draws=4), mode(0.4, [], draws=0)  # of so few draws it is no wonder
    assert codes_of(*few, max_rhat=1.005) == ["mode-unsampled"]
    crossed = mode(0.6, [0, 1, 2, 3], draws=15), mode(0.4, [], draws=5)
    assert codes_of(*crossed, max_rhat=1.005, crossing=[1]) == []


# ----------------------------------------------------------------------------------------------- cases of data, models


def data_of(*texts, labels=("x", "y"), **more):
    """A table from texts such as "1ab": item 1, annotators a and b, whose answers alternate."""
    records = [(text[0], who, labels[k % len(labels)]) for text in texts for k, who in enumerate(text[1:])]
    return ba.AnnotationData.from_records(records, labels=list(labels), **more)


def habits(n_good):
    """Five annotators who always say "x", and some who are right."""
    records = [(f"i{i}", f"r{j}", "x") for i in range(60) for j in range(5)]
    records += [(f"i{i}", f"g{j}", "xy"[i % 2]) for i in range(60) for j in range(n_good)]
    return ba.AnnotationData.from_records(records, labels=["x", "y"])


def twice(*second):
    """Answers by a judge to 120 items, twice each: x and y in turn, and then these in turn; and by two others."""
    records = [(f"i{i}", "judge", ("xxyy"[i % 4], second[i % 4])[time]) for i in range(120) for time in range(2)]
    records += [(f"i{i}", who, "xxyy"[i % 4]) for i in range(120) for who in ("bo", "cy")]
    return ba.AnnotationData.from_records(records, labels=["x", "y"])


def skewed(agree):
    """Answers of which nine in ten are "no"; where not, all say "yes", or one of three."""
    said = [["yes" if i % 10 == 0 and (agree or j == i % 3) else "no" for j in range(3)] for i in range(100)]
    return ba.AnnotationData.from_records([(f"i{i}", "abc"[j], said[i][j]) for i in range(100) for j in range(3)])


def graded(*texts, labels=("1", "2", "3")):
    """A model of grades and a table whose order of labels is that of the alphabet."""
    data = data_of(*texts, labels=labels)
    return OrdinalDawidSkene(shared=True), dataclasses.replace(data, order_declared=False)


THREE = data_of("1abc", "2abc", "3abc", "4abc")
COUNTS = ba.CountData(items=("a", "b"), successes=np.array([1, 4]), trials=np.array([5, 5]))
PAIRED = {"first": ["m", "n", "m"], "second": ["o", "o", "n"]}
COMPARED = OneCoin(class_prior=ba.Pairs(first="first", second="second"))
TWO_ANSWERS, ONE_ANSWER = data_of("1ab", "2bc", "3ca"), data_of("1a", "2b", "3c")
BEFORE = {  # by code: a model and data of which it is found, and of which not
    "contradicts-itself": ((OneCoin(), twice(*"xyxy")), (OneCoin(), twice(*"xxyy"))),
    "orders-not-turned": ((OneCoin(), twice(*"yyxx")), (OneCoin(), twice(*"xyxy"))),
    "annotators-unnamed": ((OneCoin(), data_of("1a")), (OneCoin(), THREE)),
    "design-one-answer": ((OneCoin(), ONE_ANSWER), (OneCoin(), THREE)),
    "design-few-annotators": ((OneCoin(), data_of("1ab", "2ab")), (OneCoin(), THREE)),
    "design-groups-apart": ((OneCoin(), data_of("1abc", "2def")), (OneCoin(), data_of("1abc", "2cef"))),
    "repeated-label": ((ModelB(), habits(3)), (ModelB(), habits(9))),
    "only-repeaters": ((ModelB(), None), (ModelB(), habits(3))),
    "class-or-habit": ((MACE(), skewed(agree=False)), (MACE(), skewed(agree=True))),
    "class-not-habit": ((MACE(class_prior="uniform"), skewed(agree=True)), (MACE(), skewed(agree=True))),
    "order-undeclared": (graded("1abc", labels=("hi", "lo", "mid")), graded("1abc")),
    "grades-two-labels": (graded("1abc", labels=("1", "2")), graded("1abc")),
    "grades-one-answer": (graded("1a", "2b"), graded("1ab")),
    "grades-few-annotators": (graded("1ab"), graded("1abc")),
    "grades-few-answers": (graded("1ab"), graded("1abc")),
    "label-unused": ((HierarchicalDawidSkene(), data_of("1a", "2b")), (HierarchicalDawidSkene(), THREE)),
    "population-few-annotators": ((HierarchicalDawidSkene(), data_of("1ab")), (HierarchicalDawidSkene(), THREE)),
    "difficulty-one-answer": ((ItemDifficulty(), ONE_ANSWER), (ItemDifficulty(), TWO_ANSWERS)),
    "difficulty-wrong-majority": ((ItemDifficulty(form="2pl"), THREE), (ItemDifficulty(form="chance"), THREE)),
    "mixed-rates": ((DiligentLazy(), COUNTS), (DiligentLazy(known=True), COUNTS)),
    "mirrored": ((ModelA(), THREE), (ModelA(), data_of("1abc", controls={"1": "x"}))),
    "steep-prior": ((ModelB(confusion_strength=0.3), THREE), (ModelB(), THREE)),
    "shared-few-answers": ((SharedErrors(), TWO_ANSWERS), (SharedErrors(), THREE)),
    "shared-without-controls": ((SharedErrors(), THREE), (SharedErrors(), data_of("1abc", controls={"1": "x"}))),
    "winners-true": (
        (COMPARED, ba.modeling.take_as_true(data_of("1a", "2b", "3c", item_columns=PAIRED))),
        (COMPARED, data_of("1a", "2b", "3c", item_columns=PAIRED)),
    ),
    "comparisons-one-answer": (
        (COMPARED, data_of("1a", "2b", "3c", item_columns=PAIRED)),
        (COMPARED, data_of("1ab", "2bc", "3ca", item_columns=PAIRED)),
    ),
}  # fmt: skip


def draws(**values):
    """A posterior of one chain of one draw."""
    return xr.Dataset({name: (("chain", "draw", *dims), np.array([[value]])) for name, (dims, value) in values.items()})


def population(right):
    both = {"true_class": ["a", "b"], "response": ["a", "b"]}
    rows = np.where(np.eye(2), right, 1 - right)
    return draws(population=(("true_class", "response"), rows)).assign_coords(both)


def types(*weight):
    return draws(weight=(("item_type",), list(weight)), rate=(("item_type",), [0.2, 0.8]))


POSTERIORS = {
    "class-misnamed": ((HierarchicalDawidSkene(), population(0.3)), (HierarchicalDawidSkene(), population(0.4))),
    "difficulty-wide": ((ItemDifficulty(), draws(spread=((), 2.1))), (ItemDifficulty(), draws(spread=((), 2.0)))),
    "type-not-needed": ((BinomialMixture(), types(0.97, 0.03)), (BinomialMixture(), types(0.5, 0.5))),
}
ELSEWHERE = {
    "labels-against-vote",
    "few-true-labels",
    "labels-carry-nothing",
    "recalibration-worse",
    "no-log-likelihood",
    "labels-adjusted",
}


@pytest.mark.parametrize("code", BEFORE)
def test_what_cannot_be_learnt_from_data_is_found(code):
    (model, data), (other, fine) = BEFORE[code]
    if code == "annotators-unnamed":
        data = ba.AnnotationData.from_records([("1", "anyone", "x"), ("2", "anyone", "y")])
    elif code == "only-repeaters":
        data = crowd_with_habits(1, [0, 1, 2, 3, 0, 1], n_good=0)
    of_terms = [one for term in terms_of(model) for one in term.findings(data)]
    own = [*find_in_design(data), *of_terms, *model.findings(data)]
    (found,) = [one for one in own if one.code == code]
    assert {one.code for one in own} >= {one.code for one in find_before(model, data)}
    assert found.warning == "IdentifiabilityWarning"
    assert code not in {one.code for one in find_before(other, fine)}


@pytest.mark.parametrize("code", POSTERIORS)
def test_what_a_posterior_shows_is_found(code):
    (model, posterior), (other, fine) = POSTERIORS[code]
    (found,) = model.findings_of_posterior(posterior)
    assert found.code == code
    assert list(other.findings_of_posterior(fine)) == []


# ------------------------------------------------------------------------------------------------------------ the rules


def test_every_rule_is_measured_and_has_a_case():
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    measured = set(re.findall(r'\b(?:find|check)\(\s*"([\w-]+)"', re.sub(r"\.find\(|>>> find\(", "", text)))
    measured |= {"mode-light", "mode-doubtful", "spammer", "adversary", "rhat", "ess"}  # of which a call names several
    measured |= {"statistic-off", *OF_RATINGS}
    assert measured == set(read_rules())
    assert {*DIAGNOSED, *BEFORE, *POSTERIORS, *ELSEWHERE} == set(read_rules())


# ------------------------------------------------------------------------------------------------------- what fits hold


@pytest.fixture(scope="module")
def found_fit():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fit = ba.fit("one_coin", data_of("1ab", "2ab", "3ab"), **QUICK)
    return fit, [one for one in seen if one.category.__module__.startswith("bayesanno")]


def test_the_table_the_warnings_and_the_list_are_the_same(found_fit):
    fit, seen = found_fit
    table, listed = ba.findings(fit), read_findings(view_of(fit))
    assert table.columns.tolist() == list(COLUMNS)
    assert table["code"].tolist() == [one.code for one in listed]
    assert table["level"].tolist() == sorted(table["level"], key=LEVELS.index)
    warned = {one.text: one.warning for one in listed if one.warning}
    assert {str(one.message): one.category.__name__ for one in seen} == warned
    row = table.set_index("code").loc["design-few-annotators"]
    assert (row["value"], row["threshold"]) == (2, 3)


def test_a_fit_without_findings_gets_them_from_what_it_holds(found_fit):
    fit, _ = found_fit
    old = fit.copy()
    old.attrs = {name: value for name, value in fit.attrs.items() if name != "findings"}
    assert ba.findings(old).equals(ba.findings(fit))


def test_codes_and_keys_of_other_versions_are_kept(found_fit):
    other = found_fit[0].copy()
    record = {"code": "of-tomorrow", "message": "It rains.", "remedy": "Stay in.", "level": "stop", "colour": "red"}
    other.attrs = found_fit[0].attrs | {"findings": json.dumps([record])}
    (row,) = ba.findings(other).to_dict("records")
    assert (row["code"], row["level"], row["message"], row["about"]) == ("of-tomorrow", "stop", "It rains.", "")


def test_an_own_model_adds_its_own():
    class Own(OneCoin):
        def findings(self, data):
            yield Finding("too-small", f"There are {data.n_items} items.", "Add some.")

    found = find_before(Own(), THREE)
    assert [one.text for one in found] == ["too-small: There are 4 items. Add some."]


def test_dimensions_are_named_in_the_sentence():
    diagnostics = {"misfit": [{"dimension": "tone", "errors": ERRORS}], "gold": {"tone": GOLD}}
    assert all("in 'tone'" in one.message for one in find_in_diagnostics(diagnostics))


def test_advice_depends_on_what_was_done_and_on_what_is_off():
    much = {"expected_errors": [9.0, 14.0], "weight": 0.5}

    def codes(is_adjusted, **found):
        return {one.code for one in find_in_diagnostics(answers(**found), is_adjusted=is_adjusted)} - {"votes-off"}

    assert codes(False, votes=VOTES, adjustment=much) == {"labels-overconfident"}
    assert codes(True, votes=VOTES, adjustment=much) == codes(True, adjustment=much) == {"labels-adjusted"}
    assert not codes(False, adjustment=much)  # nothing is off
    assert not codes(True, adjustment=much | {"weight": 0.0})  # 2% of the vote
    assert not codes(True, votes=VOTES, adjustment=much | {"expected_errors": [0.2, 1.1]})
