"""Tests that are tables of cases: what is read as which answers, what is refused, and what its error advises."""

import ast
import re
from contextlib import suppress

import pytest

from bayesanno._core.messages import DataError, on_command_line
from bayesanno.io.names import Question
from bayesanno.io.read import read_annotations, read_table


def reading(cases):
    """Return a test that each case, (content, options, answers), is read as these answers, in order.

    A text is written to a file, and anything else is read as it is.
    """

    @pytest.mark.parametrize(("content", "options", "answers"), cases.values(), ids=cases)
    def check(keep, said, content, options, answers):
        source = keep(content) if isinstance(content, str | bytes) else content
        assert said(source, **options)[1] == answers

    return check


def refusing(cases, name=None, *, lines=False):
    """Return a test that each case, (content, match) or (content, options, match), is refused with these words.

    With a name, the content is written to a file, which the error names first.
    """

    @pytest.mark.parametrize("which", cases)
    def check(keep, refuses, which):
        content, *options, match = cases[which]
        source = content if name is None else keep(content, name, lines=lines)
        with refuses(DataError, match if name is None else f"{re.escape(name)}.*(?:{match})"):
            read_annotations(source, **dict(*options))

    return check


def commands_in(error):
    """Return the options of each command of an error, which is at most three lines after one of at most 160 letters."""
    first, *commands = str(error).splitlines()
    assert len(commands) <= 3
    assert len(first) <= 160 or not commands
    calls = [ast.parse(command.strip(), mode="eval").body for command in commands]
    return [{each.arg: ast.literal_eval(each.value) for each in call.keywords} for call in calls]


def advising(cases):
    """Return a test that each command of an error reads the table or asks another question, and the first one reads it.

    A case is (content, expected, options): the data that are then read have the expected items, annotators and labels,
    or number of answers.
    """

    @pytest.mark.parametrize("which", cases)
    def check(keep, which):
        content, expected, *given = cases[which]
        source, given = keep(content, "answers.csv") if isinstance(content, str) else content, dict(*given)
        with pytest.raises(DataError) as refused:
            read_annotations(source, **given)
        ways = commands_in(refused.value)
        assert ways
        for way in ways:
            with suppress(Question):
                read_table(source, **way)
        data = read_annotations(source, **{**given, **ways[0]})
        if isinstance(expected, int):
            assert data.n_annotations == expected
        else:
            assert (data.items, data.annotators, data.labels) == tuple(expected.values())
        with on_command_line(), pytest.raises(DataError) as refused_there:
            read_annotations(source, **given)
        _, *shown = str(refused_there.value).splitlines()
        assert len(shown) == len(ways)
        for line, way in zip(shown, ways, strict=True):
            assert line.startswith("  bayesanno read ")
            assert all(f"--{name.replace('_', '-')}" in line for name in way)

    return check
