"""Rules: each is whole and short, and its sentences are those of one snapshot.

The sentences are in `findings.txt` alone, as rendered with the examples of the rules. After a change of a rule,
`uv run python -m tests.inference.test_rules` writes that file again.
"""

import re
import string
from pathlib import Path

import pytest

import bayesanno as ba
from bayesanno._core.messages import on_command_line
from bayesanno.modeling.findings import LEVELS, Finding, find, read_remedies, read_rules, sort_findings

SNAPSHOT = Path(__file__).with_name("findings.txt")


def placeholders(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def render(code, rule):
    example = dict(rule.example)
    return find(code, example.pop("about", ()), example.pop("value", None), **example)


def snapshot():
    found = [render(code, rule) for code, rule in read_rules().items()]
    return "".join(
        f"{one.code} ({one.level})\n    {one.message}\n    {one.remedy}\n"
        + (f"    {one.command}\n" if one.command != one.remedy else "")
        for one in found
    )


def test_the_sentences_are_those_of_the_snapshot():
    assert snapshot() == SNAPSHOT.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", list(read_rules()))
def test_a_rule_is_whole_and_short(code):
    rule = read_rules()[code]
    said = render(code, rule)
    assert rule.level in LEVELS
    assert len(said.message.split()) <= 25
    assert len((rule.remedy or read_remedies()[rule.do].say).split()) <= 15
    assert said.message.endswith((".", "?"))
    assert said.remedy.endswith(".")
    assert rule.measured.endswith(".")
    assert rule.why.endswith(".")
    assert not rule.warning or issubclass(getattr(ba.errors, rule.warning), UserWarning)
    known = {*rule.example, "about", "n_about", "value", "threshold"}
    assert placeholders(rule.message) | placeholders(rule.remedy) - {"how"} <= known
    assert bool(rule.do) == ("{how}" in (rule.remedy or read_remedies()[rule.do].say))


def test_a_template_that_names_what_is_not_measured_is_refused():
    with pytest.raises(KeyError, match="parameter"):
        find("rhat", value=1.2, where="")


def test_a_remedy_is_in_the_language_of_its_reader():
    found = find("spammer", ["bo", "d'Arc"], 0.9)
    assert found.advice.endswith("""without=['bo', "d'Arc"] where data are read.""")
    with on_command_line():
        assert found.advice.endswith("""--without 'bo,d'"'"'Arc'.""")
        assert found.text.endswith(found.command)
    assert found.text.endswith(found.remedy)


def test_a_finding_of_an_earlier_version_has_one_remedy():
    record = find("spammer", ["bo"], 0.9).to_record()
    del record["command"]
    with on_command_line():
        assert Finding.from_record(record).advice == record["remedy"]


@pytest.mark.parametrize("code", list(read_rules()))
def test_a_remedy_names_no_function_on_the_command_line_and_no_option_in_python(code):
    said = render(code, read_rules()[code])
    assert "--" not in said.remedy
    assert not re.search(r"bayesanno\.|\w\(|\w=['\[{]", said.command.replace("--set ", ""))


def test_each_remedy_is_of_a_rule():
    assert {rule.do for rule in read_rules().values()} - {""} == set(read_remedies())


def test_findings_are_sorted_by_level_and_each_is_there_once():
    low, high = find("bfmi", value=0.1), find("labels-adjusted", value=1, before=1, after=2, where="", why="")
    stop = Finding("mine", "So it is.", "Do that.", level="stop")
    assert [one.code for one in sort_findings([high, low, stop, low])] == ["mine", "bfmi", "labels-adjusted"]


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), encoding="utf-8")
