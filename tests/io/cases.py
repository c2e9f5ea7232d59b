"""Tests that are tables of cases: what is read as which answers, what is refused, and what its error advises."""

import ast
import re

import pytest

from bayesanno._core.errors import DataError
from bayesanno._core.wording import on_command_line
from bayesanno.io.annotations import read_annotations

OPTIONS = (
    "item|annotator|label|columns|pairs|format|transpose|multi_label|count|no_header|separator|missing|predictions"
)
ADVICE = re.compile(rf"\b({OPTIONS})=('[^']*'|True|\.\.\.)")


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


def follow(message, said, open_roles):
    """Return the options of the part of a message that begins with some words."""
    part = message[message.index(said) :]
    part = re.split(r"; " if said.startswith("or ") else r"; (?=if |to |for )|, (?=or )", part)[0]
    found = dict(reversed(ADVICE.findall(part)))
    known = {name: open_roles.get(name) if value == "..." else ast.literal_eval(value) for name, value in found.items()}
    return {name: value for name, value in known.items() if value is not None}


def advising(cases):
    """Return a test that what an error advises is read, and is advised on the command line too.

    A case is (content, open roles, words, expected, options). The open roles are the columns of those that the error
    leaves open, the words are those before the advice, and the data that are then read have the expected items,
    annotators and labels, or number of answers.
    """

    @pytest.mark.parametrize("which", cases)
    def check(keep, which):
        content, open_roles, said, expected, *given = cases[which]
        source, given = keep(content, "answers.csv") if isinstance(content, str) else content, dict(*given)
        with pytest.raises(DataError) as refused:
            read_annotations(source, **given)
        advised = follow(str(refused.value), said, open_roles)
        assert advised
        data = read_annotations(source, **{**given, **advised})
        if isinstance(expected, int):
            assert data.n_annotations == expected
        else:
            assert (data.items, data.annotators, data.labels) == tuple(expected.values())
        with on_command_line(), pytest.raises(DataError) as refused_there:
            read_annotations(source, **given)
        shown = str(refused_there.value)
        for name, value in advised.items():
            assert f"--{name.replace('_', '-')}" in shown
            assert value is True or value in open_roles.values() or str(value) in shown

    return check
