"""The report: what it says is what the fit says; whatever the method and the data, there is one."""

import html
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayesanno as ba
from bayesanno.fits.view import part_of, view_of
from bayesanno.modeling.kinds.annotations import OF_ANNOTATIONS
from bayesanno.modeling.kinds.counts import OF_COUNTS
from bayesanno.modeling.kinds.ratings import OF_RATINGS
from bayesanno.report.blocks import as_text, join_ends, large_table
from bayesanno.report.plots.style import WORDS
from bayesanno.report.sections.findings import REPLICATES, scale_prior
from bayesanno.report.sections.labels import count_labels, list_votes
from tests.analysis.made import from_prior
from tests.samples import simulate_clique, tabulate

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
    assert shown["runner_up"].tolist() == np.where(labels["label"] == "yes", "no", "yes").tolist()
    assert shown.set_index("item").loc["s1", "said"] == "3 yes, 1 no"
    right = np.where(labels["gold"] == "", "", np.where(labels["gold"] == labels["label"], "yes", "no"))
    assert shown["right"].tolist() == right.tolist()
    counted = count_labels(SimpleNamespace(is_off=False), part_of(view_of(tiny_fit), None)).set_index("label")
    np.testing.assert_allclose(counted["expected items"], [labels[f"p[{name}]"].sum() for name in counted.index])
    annotators = frame_of(found["annotator-table"])
    np.testing.assert_allclose(annotators["mean"], ba.annotator_table(tiny_fit)["competence_mean"], atol=5e-5)


def test_a_page_says_how_it_was_made_and_asks_for_nothing_from_elsewhere(tiny_fit, page):
    questions = re.findall(r"<h2>(.*?)</h2>", page)
    assert [questions[0], questions[-1]] == ["What is the result, and what next?", "How was it made?"]
    made = html.unescape(page[page.index('id="made"') :])
    for said in (tiny_fit.attrs["data_hash"], "draws=1000", "confusion_strength", "Generative process"):
        assert said in made
    assert f"<td>{tiny_fit.attrs['random_seed']}</td>" in made
    assert re.findall(r'(?:src|href)="(?!data:|#)([^"]*)"', page) == []
    assert "@import" not in page
    assert "url(" not in page


def test_the_labels_of_the_most_doubtful_items_are_drawn_with_words(page):
    drawn = "The items with the least certain labels: shares of their answers, and probabilities of their labels."
    assert page.count(f'alt="{drawn}"><figcaption>{drawn}</figcaption>') == 1


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


def test_a_page_needs_a_folder(tiny_fit, tmp_path):
    with pytest.raises(ba.errors.DataFileError, match="there is no folder"):
        ba.write_report(tiny_fit, tmp_path / "none" / "report.html")


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
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # VB is far from the posterior
@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.IdentifiabilityWarning")  # of three annotators
def test_fits_without_chains_have_a_report(tiny_fit, tmp_path, method):
    data = ba.data_of(tiny_fit)
    page = written(ba.fit("one_coin", data, method=method, check=False, random_seed=1, progressbar=False), tmp_path)
    assert ("A point estimate by EM" if method == "em" else "Draws from an approximation") in page
    annotators = frame_of(grids(page)["annotator-table"])
    assert ("sd" in annotators) == (method == "vb")
    assert "r_hat" not in annotators


def test_checks_are_made_when_asked_for(tiny_fit, tmp_path):
    path = ba.write_report(tiny_fit, tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    assert "Does it predict the observed answers?" in page
    shown = re.search(r"<caption>Each statistic as a whole.*?</table>", page, re.DOTALL)[0]
    rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in shown.split("<tr>")[2:]]
    check = ba.predictive_check(tiny_fit, replicates=REPLICATES, random_seed=tiny_fit.attrs["random_seed"]).table
    whole, parts = check[check["level"] == "total"].sort_values("p", kind="stable"), check[check["level"] == "each"]
    assert [row[0] for row in rows[: len(whole)]] == whole["statistic"].tolist()
    assert {*OF_ANNOTATIONS, *OF_COUNTS, *OF_RATINGS} <= set(WORDS)
    p = parts["p"].nsmallest(12 - len(whole)).round(3)
    assert [row[-1] for row in rows[len(whole) :]] == p.map(as_text).tolist()
    changing = ba.criticism.label_power_scaling(tiny_fit).query("abs(doublings) < 1")["item"]
    said = f"A prior of twice or half the strength would change {len(changing) or 'none'} of 6 labels"
    beginning, end = page.split("<h3>How much did the prior matter?</h3>")
    assert f"{said}: see “How much did the prior matter?” below." in beginning
    assert said in end
    assert all(item in end for item in changing)
    assert "More data like these would move" in end
    assert "conflict" not in page
    assert "What would more answers bring?" in page


def test_what_depends_on_the_prior_is_said_of_labels_and_parameters(mace_fit):
    few = mace_fit.isel(draw=slice(0, 1000, 2))
    found, table = scale_prior(view_of(few)), ba.power_scaling_table(few, ["competence", "prevalence"])
    assert (
        found["labels"]["changing"]
        == ba.criticism.label_power_scaling(few).query("abs(doublings) < 1")["item"].tolist()
    )
    assert found["labels"]["changing"]
    counts = (table["prior"] >= 0.05) & (table["prior_p_adjusted"] <= 0.05)
    moving = table[counts]
    assert (found["n"], found["n_moving"]) == (len(table), len(moving))
    assert found["n_apart"] <= (moving["prior_slope"] * moving["likelihood_slope"] < 0).sum()
    sure = (moving["prior_slope"].abs() > 2 * moving["prior_slope_mcse"]) & (
        moving["likelihood_slope"].abs() > 2 * moving["likelihood_slope_mcse"]
    )
    assert found["n_apart"] == (sure & (moving["prior_slope"] * moving["likelihood_slope"] < 0)).sum()


def test_numbers_are_rounded_and_missing_ones_are_left_out_and_votes_are_in_words():
    votes = np.array([[0, 2, 2], [1, 3, 0], [1, 0, 0]])
    assert list_votes(votes, ("a", "b", "c")).tolist() == ["2 b, 2 c", "3 b, 1 a", "1 a"]
    table = pd.DataFrame({"name": ["x", "y", "x", "x"], "value": [0.123456, np.nan, 1, 2], "n": [1, 2000, 3, 4]})
    name, value, n = large_table(table, "rows", "value", choose=["name"])["columns"]
    assert name == {"name": "name", "kind": "text", "values": [0, 1, 0, 0], "names": ["x", "y"], "filter": True}
    assert value["values"] == [0.1235, None, 1.0, 2.0]  # sorted by four digits, shown with two
    assert (value["digits"], n["digits"]) == (2, 0)
    assert large_table(table.rename(columns={"value": "r_hat"}), "rows", "n")["columns"][1]["digits"] == 3
    assert [as_text(one) for one in table["value"]] == ["0.12", "", "1", "2"]
    ends = pd.DataFrame({"rank_eti89_lb": [1.0], "rank_eti89_ub": [3.0], "p": [0.2]})
    assert join_ends(ends, "rank").iloc[0].to_dict() == {"rank 89% interval": "1 to 3", "p": 0.2}


@pytest.mark.filterwarnings("ignore::bayesanno._core.messages.ConvergenceWarning")  # of so few draws
class TestWhoErrsTogether:
    def test_it_says_what_answers_are_worth_and_lists_who_does(self, tmp_path):
        data, _ = simulate_clique(np.random.default_rng(1), items=120, clique=4, copies=0.9)
        fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
        page = html.unescape(written(fit, tmp_path))
        (section,) = re.findall(r"<h2>Do annotators err together\?</h2>(.*?)</section>", page, re.DOTALL)
        table = ba.dependence_table(fit)
        assert f"120 items, errors of two annotators correlate by {table.loc[0, 'correlation']:.2f} (" in section
        assert f"10 answers an item are worth {table.loc[0, 'worth']:.1f} independent ones" in section
        assert {"a0", "a1", "a2", "a3"} <= set(re.findall(r"<td>(a\d)</td>", section))

    def test_what_is_not_found_is_not_shown(self, tmp_path):
        rng, truth = np.random.default_rng(1), np.arange(80) % 2
        data = tabulate(truth, np.where(rng.random((3, 80)) < 0.9, truth, 1 - truth))
        fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
        page = html.unescape(written(fit, tmp_path))
        (section,) = re.findall(r"<h2>Do annotators err together\?</h2>(.*?)</section>", page, re.DOTALL)
        assert "no correlation of errors beyond what one_coin predicts is found" in section
        assert "<img" not in section
        assert "<table" not in section

    def test_of_few_items_types_or_annotators_alone_nothing_is_said(self, page, counted_fit, tiny_fit, tmp_path):
        usage = written(from_prior(ba.get_model("label_usage"), ba.data_of(tiny_fit)), tmp_path)
        of_types = written(counted_fit, tmp_path)
        for one in (page, of_types, usage):
            assert "Do annotators err together?" not in one
        assert "Model and majority vote" in page
        assert "Use with care" in usage  # of so few draws
        for without_labels in (of_types, usage):
            for said in ("Model and majority vote", "true labels of 20", "Use the labels", "least certain labels"):
                assert said not in without_labels
        assert "Review the" not in usage
