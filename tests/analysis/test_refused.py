"""What tables of a fit refuse: the kind of the error, and the words that name what is wrong."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, FitError
from bayesanno.analysis.grades import check_grades
from bayesanno.analysis.recalibrate import check_gold
from bayesanno.analysis.tags import check_tags
from bayesanno.models import HierarchicalDawidSkene, LabelUsage
from tests.analysis.made import from_prior
from tests.samples import tiny_data

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning"),  # so few draws
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.IdentifiabilityWarning"),  # of few answers
    pytest.mark.filterwarnings("ignore::bayesanno._core.messages.PredictionWarning"),  # of a point, of few true labels
]


def by_em(data):
    return ba.fit("one_coin", data, method="em", check=False, random_seed=1, progressbar=False)


def of(*records, **known):
    return ba.AnnotationData.from_records(records, **known)


def tagged(*tags, item="s/{}"):
    return by_em(of(*((item.format(at), who, tag) for who in "abc" for at, tag in enumerate(tags))))


@pytest.fixture(scope="module")
def f(mace_fit, tiny_fit, multi_fit, count_fit):
    usage = from_prior(LabelUsage(centre="even"), tiny_data())
    words = by_em(of(*((f"i{n}", who, ("plain", "fair", "good")[n % 3]) for n in range(6) for who in "abc")))
    bare = {"tiny": tiny_fit, "mace": mace_fit, "multi": multi_fit, "counts": count_fit, "usage": usage, "words": words}
    return SimpleNamespace(**bare, recalibrated=ba.recalibrate(tiny_fit))


COSTS = {"yes": {"yes": 0, "no": 1}, "no": {"yes": 1, "no": 0}}
GROUPS = {item: "ab"[at % 2] for at, item in enumerate(tiny_data().items)}
ALONE = [(f"i{n}", "abc"[n % 3], "xy"[n // 3 % 2]) for n in range(12)]  # each item is answered by one
ORDER = ["no", "maybe", "yes"]
PAIR = ("a", "b")

OF_LABELS = [
    (lambda f: ba.label_table(f.mace, coverage=0), FitError, "coverage is 0"),
    (lambda f: ba.label_table(f.mace, coverage=float("nan")), FitError, "coverage is nan"),
    (lambda f: ba.coverage_table(f.mace, [0.5, 1.01]), FitError, "coverage is 1.01"),
    (lambda f: ba.coverage_table(f.words), FitError, "no gold label is known"),
    (lambda f: ba.decide_labels(f.tiny, {"yes": COSTS["yes"]}), DataError, "one row per label .*: see 'no'"),
    (lambda f: ba.decide_labels(f.tiny, COSTS | {"yes": {"yes": 0}}), DataError, "finite numbers"),
    (lambda f: ba.decide_labels(f.tiny, COSTS | {"yes": {"yes": 0, "no": np.inf}}), DataError, "finite numbers"),
    (lambda f: ba.predict_labels(f.tiny, of(("x", "di", "no"), ("x", "bo", "yes"))), DataError, "annotator 'di'"),
    (lambda f: ba.predict_labels(f.tiny, of(("x", "bo", "ja"), ("y", "bo", "no"))), DataError, "label 'ja'"),
    (lambda f: ba.sample_labels(f.multi), FitError, "cannot be drawn together, .*: name one of 'focus', 'polarity'"),
    (lambda f: ba.sample_labels(f.multi, dimension="tone"), FitError, "and none 'tone'"),
    (lambda f: ba.sample_labels(f.counts, dimension="focus"), FitError, "leave out dimension='focus'"),
    (lambda f: ba.plot_labels(f.multi), FitError, "has dimensions focus, polarity: name one"),
    (lambda f: ba.plot_labels(f.counts), FitError, "plot_labels needs labels, and binomial_mixture gives item types"),
    (lambda f: ba.plot_labels(f.usage), FitError, "plot_labels needs labels, and label_usage gives nothing"),
    (lambda f: ba.noise.noise_posterior(f.mace), FitError, "does not infer which annotated items are hard"),
    (lambda _: ba.tag_table(tagged("LOC", "O")), DataError, "labels are not BIO tags, 'LOC'"),
    (lambda _: ba.tag_table(tagged("B-X", "O", item="s{}")), DataError, "item 's0' has no position"),
    (
        lambda _: check_tags(LabelUsage(), of(("s/1", "a", "O"), ("s/1", "b", "B-X"))),
        FitError,
        "tag_table needs labels, and label_usage gives nothing",
    ),
]
OF_GRADES = [
    (lambda f: ba.decide_labels(f.mace, "square"), DataError, "did you mean 'squared'"),
    (lambda f: ba.decide_labels(f.mace, {}, order=ORDER), DataError, "order applies only to the losses"),
    (lambda f: ba.decide_labels(f.words, "squared"), DataError, "the order of the labels .* is not known"),
    (lambda f: ba.grade_table(f.words), DataError, "the order of the labels .* is not known"),
    (lambda f: ba.grade_table(f.words, order=["plain", "fair", "god"]), DataError, "did you mean 'good'"),
    (lambda f: ba.grade_table(f.mace, order=["no", *ORDER]), DataError, "must name each label once .*: see 'no'"),
    (lambda f: ba.grade_table(f.multi, order=["-", "+"]), FitError, "order applies to one dimension"),
    (lambda f: ba.grade_table(f.counts), FitError, "grade_table needs labels"),
    (
        lambda f: check_grades(ba.get_model("binomial_mixture"), ba.data_of(f.counts)),
        FitError,
        "grade_table needs labels",
    ),
]
OF_GROUPS = [
    (lambda f: ba.group_table(f.tiny, {"x": "old"}), DataError, "groups has no item of the fit"),
    (lambda f: ba.group_table(f.tiny, {"s1": "a", "s2": "a"}), DataError, r"'s3' \(as 3 more\) is in no group"),
    (lambda f: ba.group_table(f.tiny, GROUPS | {"x": "third"}), DataError, "group 'third' has no item"),
    (lambda f: ba.group_table(f.tiny, pd.DataFrame({"item": ["s1"]})), DataError, "groups has no column 'group'"),
    (lambda f: ba.group_table(f.tiny, list(GROUPS)), DataError, "groups is list"),
    (lambda f: ba.group_table(f.tiny, pd.Series(["a", "b"], ["s1", "s1"])), DataError, "'s1' has two groups"),
    (lambda f: ba.group_table(f.tiny, GROUPS, label="perhaps"), DataError, "label is 'perhaps'"),
    (lambda f: ba.group_table(f.tiny, "sytem"), DataError, "needs the column 'sytem'"),
    (
        lambda f: ba.group_table(f.counts, GROUPS),
        FitError,
        "group_table needs labels, and .* gives item types",
    ),
    (lambda f: ba.dependence_table(f.tiny, {"zed": "x"}), DataError, r"annotator 'ada' \(as 2 more\) is in no group"),
    (lambda f: ba.dependence_table(f.tiny, truth="votes"), FitError, "there is no truth 'votes'"),
    (lambda f: ba.dependence_table(f.tiny, least_items=0), DataError, "least_items is 0"),
    (lambda f: ba.dependence_table(f.multi), FitError, "name one"),
    (lambda f: ba.dependence_table(f.counts), FitError, "dependence_table needs labels"),
    (lambda _: ba.dependence_table(by_em(of(*ALONE))), DataError, "no item was answered by two annotators"),
    (lambda _: ba.dependence_table(by_em(tiny_data(gold={"s5": "yes"}))), DataError, "no item with a known true label"),
    (lambda f: ba.dependence_table(f.words, truth="gold"), DataError, "no item has a known true label"),
]
OF_ANNOTATORS = [
    (lambda f: ba.behaviour_table(f.tiny), FitError, "model_b does not say how annotators use labels"),
    (lambda f: ba.behaviour_table(f.usage, farthest_by="kl"), FitError, "no measure 'kl'"),
    (lambda f: ba.behaviour_table(f.usage, base=0), DataError, "base is 0"),
    (lambda f: ba.analysis.differ_more_probability(f.usage, PAIR, than=PAIR), FitError, "annotator 'a' is not in"),
    (lambda f: ba.confusion_table(f.usage), FitError, "no confusion matrices"),
    (lambda f: ba.annotator_table(f.usage), FitError, "no competence"),
    (lambda f: ba.plot_annotators(f.multi), FitError, "name one"),
    (lambda f: ba.population_table(f.tiny), FitError, "model_b has no population of annotators"),
    (lambda _: ba.find_modes(HierarchicalDawidSkene(), tiny_data()), FitError, "its modes are meaningless"),
    (lambda f: ba.ranking_table(f.tiny), FitError, "model_b compares no systems"),
    (lambda f: ba.win_table(f.tiny, ties="all"), FitError, "ties is 'all'"),
    (lambda f: ba.coefficient_table(f.tiny), FitError, "has no effects of columns"),
]
OF_GOLD = [
    (lambda f: ba.recalibrate(f.tiny, {"no item": "x"}), DataError, "no item of this file"),
    (lambda f: ba.recalibrate(f.tiny, {"s1": "fish"}), DataError, "label 'fish' of item"),
    (lambda f: ba.recalibrate(f.tiny, {}), FitError, "no true label is known"),
    (lambda f: ba.recalibrate(f.tiny, 3), DataError, "gold is of type int"),
    (lambda f: ba.recalibrate(f.tiny, "nowhere.csv"), ba.errors.DataFileError, "there is no file 'nowhere.csv'"),
    (lambda f: ba.recalibrate(f.multi, {"i1": "+"}), DataError, "give gold by dimension"),
    (lambda f: check_gold(ba.get_model("binomial_mixture"), ba.data_of(f.counts), {}), FitError, "gives item types"),
    (lambda f: ba.relabel(f.recalibrated), FitError, "was recalibrated, but relabel computes labels"),
    (lambda f: ba.drop_chains(f.recalibrated, [0]), FitError, "was recalibrated, but drop_chains"),
    (lambda f: ba.split_modes(f.recalibrated), FitError, "was recalibrated, but split_modes"),
    (lambda f: ba.combine_modes(f.recalibrated), FitError, "was recalibrated, but combine_modes"),
]


@pytest.mark.parametrize(("ask", "error", "match"), [*OF_LABELS, *OF_GRADES, *OF_GROUPS, *OF_ANNOTATORS, *OF_GOLD])
def test_what_cannot_be_told_of_a_fit_is_refused(f, refuses, ask, error, match):
    with refuses(error, match):
        ask(f)
