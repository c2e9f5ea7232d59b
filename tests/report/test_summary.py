"""The summary of a report: one verdict rules the page, and what it advises helps."""

import html
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import bayesanno as ba
from bayesanno.fits.view import part_of, view_of
from bayesanno.inference.diagnosis.findings import count_errors, is_misfit
from bayesanno.report.page import render
from bayesanno.report.sections.findings import find_all
from bayesanno.report.sections.labels import count_labels
from tests.samples import simulate_clique

QUICK = {"method": "vb", "random_seed": 1, "progressbar": False}


def find(fit):
    return find_all(view_of(fit), checks=False, random_seed=1)


def said(fit):
    """The verdict, whether it is good, the codes of what is shown below it, and what to do."""
    page = html.unescape(render(view_of(fit), checks=False, random_seed=1))
    ((kind, verdict),) = re.findall(r'<p class="verdict( doubt)?">(.*?)</p>', page, re.DOTALL)
    shown = set(re.findall(r"<li><b>(\S+) \(", page))
    (steps,) = re.findall(r"<ol>(.*?)</ol>", page, re.DOTALL)
    return " ".join(verdict.split()), not kind, shown, steps


@pytest.fixture(scope="module")
def clique():
    """Four of ten err by one coin, and nobody is very good."""
    rng = np.random.default_rng(2)
    return simulate_clique(rng, items=200, clique=4, copies=0.9, accuracy=(0.6, 0.75))[0]


@pytest.fixture(scope="module")
def clique_fit(clique):
    with pytest.warns(ba.MisfitWarning):
        return ba.fit("model_b", clique, **QUICK)


def test_a_fit_whose_annotators_err_together_is_doubted_first(clique_fit):
    verdict, is_well, shown, steps = said(clique_fit)
    assert not is_well
    assert verdict.startswith("Do not use these results as they are")
    assert {"copies", "labels-contradict-gold", "labels-overconfident"} <= shown
    assert "errors-correlate" not in shown  # which the copies explain
    assert ("a0", "a1", "a2", "a3") in find(clique_fit).copies
    part, labels = part_of(view_of(clique_fit), None), ba.label_table(clique_fit)
    counted, errors = count_labels(find(clique_fit), part), count_errors(part)
    assert dict(zip(counted["label"], counted["items"], strict=True)) == labels["label"].value_counts().to_dict()
    assert (errors.n, errors.made) == (200, (labels["label"] != labels["gold"]).sum())
    assert errors.expected == pytest.approx((1 - labels["probability"]).sum())
    assert errors.vote == pytest.approx((1 - ba.majority_vote(part.data)["right"]).sum())
    assert "only one of a0, a1, a2, a3" in steps
    assert "Recalibrate by known labels" in steps


def test_without_true_labels_a_fit_that_passes_says_what_it_cannot_see():
    rng = np.random.default_rng(3)
    alone = simulate_clique(rng, annotators=8, items=150)[0]
    fit = ba.fit(
        "one_coin", ba.AnnotationData.from_records(alone.to_frame()[["item", "annotator", "label"]].to_numpy()), **QUICK
    )
    verdict, is_well, shown, steps = said(fit)
    assert is_well
    assert not shown
    assert "annotators of an item share" in steps
    verdict, is_well, _, steps = said(ba.fit("one_coin", alone, **QUICK))
    assert re.search(r" wrong; [\d.]+ were expected", verdict)  # the truth is known: no need to guess
    assert "annotators of an item share" not in steps
    unchecked = ba.fit("one_coin", alone, **QUICK, check=False)
    assert "was not compared with the answers" in said(unchecked)[0]


def test_where_nearly_all_err_together_gold_alone_says_so():
    """Seven of nine who err by one coin look like seven who are good: only known labels can tell."""
    rng = np.random.default_rng(2)
    data = simulate_clique(rng, annotators=9, items=200, clique=7, copies=0.9, accuracy=(0.55, 0.65))[0]
    with warnings.catch_warnings(action="ignore"):
        assert not is_misfit(view_of(ba.fit("model_b", replace(data, gold={}), **QUICK)))
        fit = ba.fit("model_b", data, **QUICK)
    _, is_well, shown, steps = said(fit)
    assert not is_well
    assert {"labels-contradict-gold", "most-err-together"} <= shown
    assert "only one of" not in steps


def test_recalibrated_labels_are_said_to_be(clique_fit):
    with pytest.warns(ba.MisfitWarning, match="^vote-is-better: "):
        fit = ba.recalibrate(clique_fit)
    verdict, is_well, shown, _ = said(fit)
    assert verdict.startswith("The labels are recalibrated by true labels")
    assert is_well == ("vote-is-better" not in shown)  # a temperature does not make labels right
    assert "labels-contradict-gold" not in shown  # as many as expected, by now
    assert "copies" in shown  # what was off is there to read


@pytest.fixture(scope="module")
def desk():
    """The table of the ninth notebook, in which two copy a third, as a DataFrame."""
    people = ["ada", "bo", "cy", "dee", "eve", "fay", "gil", "hal"]
    design = ba.make_design(items=200, annotators=people, labels=["no", "yes"], per_item=6, random_seed=1)
    parameters = {"accuracy": np.full(8, 0.72), "prevalence": [0.5, 0.5]}
    table = ba.simulate("one_coin", design, parameters=parameters, random_seed=2)[0].to_frame()
    of_ada = table[table["annotator"] == "ada"].set_index("item")["label"]
    looks = table["annotator"].isin(["bo", "cy"]) & table["item"].isin(of_ada.index)
    looks &= np.random.default_rng(3).random(len(table)) < 0.9
    table.loc[looks, "label"] = table.loc[looks, "item"].map(of_ada)
    return table


def fit_quietly(table):
    """A fit whose warnings are read from the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ba.fit("model_b", ba.read_annotations(table, labels=["no", "yes"]), **QUICK)


@pytest.fixture(scope="module")
def desk_fit(desk):
    return fit_quietly(desk)


class TestCopies:
    """8 errors are expected, some 43 made, and the vote makes fewer."""

    def test_the_advice_names_them_and_helps(self, desk, desk_fit):
        _, is_well, shown, steps = said(desk_fit)
        assert not is_well
        assert {"copies", "vote-is-better"} <= shown
        assert "only one of ada, bo, cy," in steps
        assert "Use the majority vote" in steps
        better = fit_quietly(desk[~desk["annotator"].isin(["bo", "cy"])])
        before, after = (count_errors(part_of(view_of(fit), None)) for fit in (desk_fit, better))
        assert after.made < before.vote < before.made
        assert not find(better).is_off

    def test_nothing_on_the_page_contradicts_the_verdict(self, desk_fit, tmp_path):
        text = html.unescape(ba.write_report(desk_fit, tmp_path / "report.html").read_text(encoding="utf-8"))
        assert text.count('class="verdict') == text.count('class="verdict doubt"') == 1
        for trusting in ("expected to be right", "done:", "If the probabilities are right", "No problems found"):
            assert trusting not in text
        for doubting in (
            "does not show what more answers",
            "but the probabilities are off",
            "which are off.",
            "(here ada, bo, cy) look too good",
        ):
            assert doubting in text
        assert re.search(
            r"On the 200 items with a known label, the model is right for 7\d\.\d%, and the vote for 8\d\.\d%", text
        )
