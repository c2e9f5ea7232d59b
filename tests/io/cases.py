"""Tests that are tables of cases: what is read as which answers, and what is refused with which words."""

import re

import pytest

from bayesanno._core.errors import DataError
from bayesanno.io.annotations import read_annotations


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
