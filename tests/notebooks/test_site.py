"""What the documentation site is made of: every model's card becomes a page, and its example fits its model."""

import doctest
import json
import re
import sys
from base64 import b64decode
from pathlib import Path

import pytest

import bayesanno as ba
from bayesanno.modeling.findings import read_rules

FOLDER = Path(__file__).parents[2] / "notebooks"
sys.path.insert(0, str(FOLDER))

from _build_helpers import cards, findings, formulas, models, stored  # noqa: E402

NAMES = ba.list_models()["name"].tolist()
SECTIONS = {"Generative process", "Symbols, and priors", "Identifiability", "Use", "References"}
PLAIN = {"model_a": 1}  # indented lines that are no formula: they say in words how a sum is computed


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("by_numpy")
def test_the_page_of_a_model_has_all_its_card_says_and_an_example_that_it_takes(name):
    first, sections = cards.split_card(models.card_of(name))
    assert ": " in first
    assert {section.name for section in sections} >= SECTIONS
    assert sum(name in group for group in models.GROUPS.values()) == 1
    page = cards.card_to_markdown(models.card_of(name))
    assert r"\begin{aligned}" in page
    assert page.count("```text") == PLAIN.get(name, 0)
    card = re.sub(r"`|\s", " ", models.card_of(name).partition("\n")[2])
    words = {word for word in re.findall(r"[a-z]{5,}", card) if word not in formulas.GREEK}
    words -= {"https", "proportional", "integral"}  # an address is a link, and these are signs
    assert {word for word in words if word not in page.lower().replace("\\", "")} == set()
    scope = {"ba": ba}
    exec(models.example(name).rpartition("\n")[0], scope)
    ba.get_model(name).check(scope["data"])


def test_a_formula_in_plain_text_becomes_latex_and_remarks_stand_apart():
    for text, latex in {
        "sum_k gamma_k prod_j e_jt^X_ij": r"\sum_{k} \gamma_{k} \prod_{j} e_{jt}^{X_{ij}}",
        "p_t^x_i (1 - p_t)^(n_i - x_i)": r"p_{t}^{x_{i}} (1 - p_{t})^{n_{i} - x_{i}}",
        "Bernoulli(p_t(i)) if S = 0": r"\mathrm{Bernoulli} (p_{t(i)}) \text{ if } S = 0",
        "sqrt((1 - theta_l^x) / 2)": r"\sqrt{(1 - \theta_{l}^{x}) / 2}",
    }.items():
        assert formulas.to_latex(text) == latex
    assert formulas.to_aligned(["    T_i    ~ Beta(1, 2)      (3) of item i"]).splitlines()[1] == (
        r"T_{i} & {} \sim \mathrm{Beta} (1 , 2) & \quad \text{(3) of item } i"
    )


def test_examples_in_the_helpers_hold():
    assert doctest.testmod(formulas).failed == 0


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_pictures_have_words(path):
    dressed = json.loads(stored.dress(path.read_text(encoding="utf-8")))
    for cell in dressed["cells"]:
        shown = [output.get("data", {}) for output in cell.get("outputs", [])]
        widths = [int.from_bytes(b64decode(one["image/png"])[16:20]) for one in shown if "image/png" in one]
        if widths:
            options = cell["metadata"]["mystnb"]["image"]
            assert options["alt"].startswith("Figure of the section")
            assert (options.get("classes") == "wide") == (max(widths) > 580)  # which a narrow screen scrolls


def test_the_page_of_findings_explains_every_rule(tmp_path):
    findings.write_findings(tmp_path)
    page = (tmp_path / "findings.md").read_text(encoding="utf-8")
    for code, rule in read_rules().items():
        section = page[page.index(f"\n## {code}\n") :].split("\n## ")[1]
        assert f"Level: {rule.level}" in section
        for part in (rule.measured, rule.why, findings.render_example(code, rule).text):
            assert part in section
        assert (rule.threshold is None) == ("The threshold is" not in section)
