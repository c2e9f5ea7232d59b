"""The report: what it says is what the fit says; whatever the method and the data, there is one."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.errors import DataFileError, FitError
from bayesanno.report.blocks import as_text, join_ends, large_table
from bayesanno.report.plots.style import WORDS
from bayesanno.report.sections.findings import REPLICATES
from bayesanno.report.sections.labels import list_votes
from bayesanno.simulation.statistics import OF_ANNOTATIONS, OF_COUNTS
from tests.analysis.made import from_prior
from tests.samples import simulate_clique

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws


def grids(page):
    """The tables of a page that sort, by the id of their element."""
    found = re.findall(r'class="grid" id="([^"]+)"><script type="application/json">(.*?)</script>', page)
    return {name: json.loads(content) for name, content in found}


def frame_of(grid):
    return pd.DataFrame({
        one["name"]: [one["names"][code] for code in one["values"]] if "names" in one else one["values"]
        for one in grid["columns"]
    })  # fmt: skip


def written(fit, tmp_path, **options):
    path = ba.write_report(fit, tmp_path / "report.html", checks=False, **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tiny_fit, tmp_path_factory):
    return written(tiny_fit, tmp_path_factory.mktemp("page"))


def test_the_tables_are_those_of_the_fit(tiny_fit, page):
    found = grids(page)
    labels, shown = ba.label_table(tiny_fit), frame_of(found["item-table"])
    assert shown["item"].tolist() == labels["item"].tolist()
    assert shown["label"].tolist() == labels["label"].tolist()
    np.testing.assert_allclose(shown["probability"], labels["probability"], atol=5e-5)
    np.testing.assert_allclose(shown["entropy"], labels["entropy"], atol=5e-5)
    other = np.where(labels["label"] == "yes", "no", "yes")
    assert shown["runner_up"].tolist() == other.tolist()
    assert shown.set_index("item").loc["s1", "said"] == "3 yes, 1 no"
    right = np.where(labels["gold"] == "", "", np.where(labels["gold"] == labels["label"], "yes", "no"))
    assert shown["right"].tolist() == right.tolist()
    annotators = frame_of(found["annotator-table"])
    np.testing.assert_allclose(annotators["mean"], ba.annotator_table(tiny_fit)["competence_mean"], atol=5e-5)
    assert found["item-table"]["sort"] == {"by": "entropy", "down": True}


def test_questions_come_in_order_and_say_how_it_was_made(tiny_fit, page):
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "What is the result, and what next?",
        "What are the labels?",
        "Who are the annotators?",
        "How good is the model?",
        "Did the fit converge?",
        "How was it made?",
    ]
    made = html.unescape(page[page.index('id="made"') :])
    for said in (tiny_fit.attrs["data_hash"], "draws=1000", "confusion_strength", "Generative process"):
        assert said in made
    assert f"<td>{tiny_fit.attrs['random_seed']}</td>" in made


def test_a_page_asks_for_nothing_from_elsewhere(page):
    assert page.startswith("<!doctype html>")
    assert re.findall(r'(?:src|href)="(?!data:|#)([^"]*)"', page) == []
    assert "@import" not in page
    assert "url(" not in page


def test_names_from_data_are_never_markup(tmp_path):
    evil, closing = "<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>"
    records = [(item, who, label) for item in (evil, "s2", closing) for who, label in (("a", evil), ("b", "no"))]
    records += [("s2", "c", "no"), (evil, "c", evil)]
    data = ba.AnnotationData.from_records(records)
    page = written(ba.fit("one_coin", data, method="em", random_seed=1, progressbar=False), tmp_path)
    assert evil not in page
    assert closing not in page
    assert evil in frame_of(grids(page)["item-table"])["item"].tolist()  # escaped for JSON, and back again
    assert page.count("<script") == 3  # two tables and our own


def test_what_the_owner_came_for_is_on_top(page):
    top = page[: page.index("What to do next")]
    places = [top.index(said) for said in ('class="verdict', "<h3>Labels</h3>", "<h3>Annotators</h3>", "than chance")]
    assert places == sorted(places)


def test_doubts_are_on_top(tiny_fit, page, tmp_path):
    assert "No problems found: the answers are as the model predicts them" in page
    assert "The 4 chains agree" in page
    doubtful = tiny_fit.copy()
    diagnostics = json.loads(doubtful.attrs["diagnostics"])
    doubtful.attrs["diagnostics"] = json.dumps(diagnostics | {"divergences": 7})
    del doubtful.attrs["findings"]
    doubts = html.unescape(written(doubtful, tmp_path))
    assert "Use with care: 1 finding below" in doubts
    assert "<b>divergences (care):</b> " in doubts


@pytest.mark.parametrize("method", ["em", "vb"])
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # VB is far from the posterior
@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.IdentifiabilityWarning")  # of three annotators
def test_fits_without_chains_have_a_report(tiny_fit, tmp_path, method):
    data = ba.data_of(tiny_fit)
    page = written(ba.fit("one_coin", data, method=method, check=False, random_seed=1, progressbar=False), tmp_path)
    assert ("A point estimate by EM" if method == "em" else "Draws from an approximation") in page
    assert "How many of the known labels are right" in page
    annotators = frame_of(grids(page)["annotator-table"])
    assert ("sd" in annotators) == (method == "vb")
    assert "r_hat" not in annotators


def test_checks_are_made_when_asked_for(tiny_fit, tmp_path):
    path = ba.write_report(tiny_fit, tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    assert "Does it predict the observed answers?" in page
    shown = re.search(r"<caption>Statistics as a whole.*?</table>", page, re.DOTALL)[0]
    rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in shown.split("<tr>")[2:]]
    check = ba.predictive_check(tiny_fit, replicates=REPLICATES, random_seed=tiny_fit.attrs["random_seed"]).table
    whole, parts = check[check["level"] == "total"].sort_values("p", kind="stable"), check[check["level"] == "each"]
    assert len(rows) == 12
    assert [row[0] for row in rows[: len(whole)]] == whole["statistic"].tolist()
    assert ["unanimous", WORDS["unanimous"]] in [row[:2] for row in rows]
    assert ["label_counts", f"{WORDS['label_counts']}: distance"] in [row[:2] for row in rows]
    p = parts["p"].nsmallest(12 - len(whole)).round(3)
    assert [row[-1] for row in rows[len(whole) :]] == p.map(as_text).tolist()
    one = parts.loc[p.index[0]]
    assert [as_text(float(one[name])) for name in ("observed", "mean")] == rows[len(whole)][2:4]
    assert "How much did the prior matter?" in page
    assert "What would more answers bring?" in page


def test_every_statistic_has_words():
    assert {*OF_ANNOTATIONS, *OF_COUNTS} <= set(WORDS)


def test_votes_in_words():
    votes = np.array([[0, 2, 2], [1, 3, 0], [1, 0, 0]])
    assert list_votes(votes, ("a", "b", "c")).tolist() == ["2 b, 2 c", "3 b, 1 a", "1 a"]


def test_numbers_are_rounded_and_missing_ones_are_left_out():
    table = pd.DataFrame({"name": ["x", "y", "x", "x"], "value": [0.123456, np.nan, 1, 2], "n": [1, 2000, 3, 4]})
    name, value, n = large_table(table, "rows", "value", choose=["name"])["columns"]
    assert name == {"name": "name", "kind": "text", "values": [0, 1, 0, 0], "names": ["x", "y"], "filter": True}
    assert value["values"] == [0.1235, None, 1.0, 2.0]  # sorted by four digits, shown with two
    assert (value["digits"], n["digits"]) == (2, 0)
    assert large_table(table.rename(columns={"value": "r_hat"}), "rows", "n")["columns"][1]["digits"] == 3
    assert [as_text(one) for one in table["value"]] == ["0.12", "", "1", "2"]
    ends = pd.DataFrame({"rank_eti89_lb": [1.0], "rank_eti89_ub": [3.0], "p": [0.2]})
    assert join_ends(ends, "rank").iloc[0].to_dict() == {"rank 89% interval": "1 to 3", "p": 0.2}


def test_nothing_is_written_where_it_cannot_be(tiny_fit, tmp_path):
    with pytest.raises(DataFileError, match="there is no folder"):
        ba.write_report(tiny_fit, tmp_path / "none" / "report.html")
    broken = tiny_fit.copy()
    del broken["constant_data"]
    with pytest.raises(FitError, match="not a fit by bayesanno: it lacks constant_data"):
        ba.write_report(broken, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::bayesanno._core.errors.ConvergenceWarning")  # of so few draws
class TestWhoErrsTogether:
    def test_it_says_what_answers_are_worth_and_lists_who_does(self, tmp_path):
        data, _ = simulate_clique(np.random.default_rng(1), items=120, clique=4, copies=0.9)
        fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
        page = html.unescape(written(fit, tmp_path))
        (section,) = re.findall(r"<h2>Do annotators err together\?</h2>(.*?)</section>", page, re.DOTALL)
        table = ba.dependence_table(fit)
        assert f"120 items, errors of two annotators correlate by {table.loc[0, 'correlation']:.2f} (" in section
        assert f"10 answers an item are worth {table.loc[0, 'worth']:.1f} independent ones" in section
        assert "The labels are therefore overconfident." in section
        assert section.count("<img") == 1
        assert {"a0", "a1", "a2", "a3"} <= set(re.findall(r"<td>(a\d)</td>", section))

    def test_without_gold_it_says_what_that_misses(self, tmp_path):
        data, _ = simulate_clique(np.random.default_rng(1), items=120, per_item=3)
        without = ba.AnnotationData.from_records(data.to_frame()[["item", "annotator", "label"]].to_numpy())
        fit = ba.fit("one_coin", without, method="em", random_seed=1, progressbar=False)
        page = html.unescape(written(fit, tmp_path))
        assert "By the fit's own labels of 120 items" in page
        assert "dependence is understated" in page
        assert "No two annotators share 20 items" in page

    def test_of_few_items_or_types_nothing_is_said(self, page, counted_fit, tmp_path):
        of_types = written(counted_fit, tmp_path)
        for one in (page, of_types):
            assert "Do annotators err together?" not in one
        assert "Model and majority vote" in page
        for of_labels in ("Model and majority vote", "true labels of 20", "Use the labels"):
            assert of_labels not in of_types

    def test_a_model_of_annotators_alone_has_no_labels_to_use(self, tiny_fit, tmp_path):
        fit = from_prior(ba.get_model("label_usage"), ba.data_of(tiny_fit))
        usage = written(fit, tmp_path)
        assert "Use with care" in usage  # of so few draws
        for of_labels in ("Model and majority vote", "true labels of 20", "Use the labels", "Review the"):
            assert of_labels not in usage
