"""The guide and the page on own models run from the top: Python and commands in order, in one folder."""

import ast
import builtins
import re
import shlex
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import bayesanno as ba
from tests.cli.within import run


def read_steps(page):
    text = (Path(__file__).parents[1] / "notebooks" / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```|^    (bayesanno [^\n]+)$", text, re.DOTALL | re.MULTILINE)


READERS = {  # what only a reader has: exports, tables of their own, a cluster, a client of Label Studio
    *("project.json", "batch.csv", "judges.jsonl", "sentiment", "arena.csv", "answers.csv", "items.csv", "answers"),
    *("tcp://10.0.0.1:8786", "local", "client", "json"),
}
FETCHED = {"@rte"}  # from the network
SHORT = {  # what takes long, and a short form of it
    "simulations=200": "simulations=50",
    "workers=2": "workers=1",
    "seed in range(20)": "seed in range(2)",
    "items=500, annotators=20": "items=50, annotators=8",
}


def names_of(code):
    """The names that a block binds and those that it takes from before it."""
    bound, taken, own = set(), set(), set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)):
            own |= {name.id for loop in node.generators for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {name.asname or name.name for name in node.names}
        if isinstance(node, ast.Name):
            (bound if isinstance(node.ctx, ast.Store) else taken).add(node.id)
        if isinstance(node, ast.arg):
            own.add(node.arg)
    return bound - own - {"_"}, taken - bound - own - set(dir(builtins))


def is_readers(line):
    """Whether a command needs what only its reader has."""
    values = {value for value in shlex.split(line) if not value.startswith("-")}
    return bool(values & (READERS | FETCHED))


def test_no_name_gets_a_second_meaning_and_none_is_missing():
    known = set()
    for code, _ in read_steps("guide.md"):
        if code:
            bound, taken = names_of(code)
            assert taken <= known | READERS, code
            assert not bound & known, code
            known |= bound


def shorten(text):
    for long, short in SHORT.items():
        text = text.replace(long, short)
    return text


@pytest.mark.notebooks
@pytest.mark.parametrize("page", ["guide.md", "own-models.md"])
def test_it_runs_from_the_top(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, value in {"draws": 60, "tune": 60, "progressbar": False}.items():
        monkeypatch.setitem(ba.fit.__wrapped__.__kwdefaults__, name, value)
    space = {"__name__": page}
    for code, line in read_steps(page):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # chains are short
            if code and not names_of(code)[1] & READERS:
                exec(shorten(code), space)
            elif line and not is_readers(line):
                assert "error:" not in run(tmp_path, *shlex.split(shorten(line))[1:])[2], line
        plt.close("all")
