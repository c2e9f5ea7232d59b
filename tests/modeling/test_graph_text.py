"""Graphs as text: equal for those that compute the same in the same way, in every process, and for no others."""

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import FromFunctionOp

import bayesanno as ba
from bayesanno.inference.graph.flat import flatten
from bayesanno.modeling.functions import name_graph, read_data
from bayesanno.modeling.graph_text import describe_graph
from tests.inference.test_flat import random_data


def graphs():
    """Graphs of a matrix, a vector and a whole number that differ in one thing each."""
    x, y, n = pt.matrix("x"), pt.vector("y"), pt.lscalar("n")
    row, wide = pt.row("x"), pt.tensor("x", dtype="float64", shape=(None, 3))
    outputs = {
        "sum": [x.sum(axis=0) + y],
        "of another axis": [x.sum(axis=1) + y],
        "of both axes": [x.sum() + y],
        "another operation": [x.sum(axis=0) * y],
        "the other way round": [y + x.sum(axis=0)],
        "twice": [x.sum(axis=0) + y] * 2,
        "one more": [x.sum(axis=0) + y, y],
        "input alone": [y],
        "constant": [x.sum(axis=0) + 2.0],
        "another constant": [x.sum(axis=0) + 3.0],
        "a nearly equal one": [x.sum(axis=0) + np.nextafter(2.0, 3.0)],
        "in more bytes": [x.sum(axis=0) + pt.constant(2.0, dtype="float64")],
        "a vector of them": [x.sum(axis=0) + pt.constant([2.0, 3.0])],
        "in another order": [x.sum(axis=0) + pt.constant([3.0, 2.0])],
        "a constant alone": [pt.constant([3.0, 2.0])],
        "part": [x[n]],
        "another part": [x[:, n]],
        "until there": [x[:n]],
        "from there": [x[n:]],
        "each such": [x[::n]],
        "without the last": [x[:-1]],
        "without the first": [x[1:]],
        "cast": [n.astype("float32")],
        "cast otherwise": [n.astype("float64")],
        "compared": [x < 1],
        "compared otherwise": [x <= 1],
        "joined": [pt.concatenate([y, y])],
        "joined matrices": [pt.concatenate([x, x], axis=1)],
        "maximum": [x.max(axis=0)],
    }
    named = {name: ([x, y, n], of) for name, of in outputs.items()}
    named["inputs in another order"] = ([y, x, n], outputs["sum"])
    named["fewer inputs"] = ([x, y], outputs["sum"])
    named["a row"] = ([row, y, n], [row.sum(axis=0) + y])
    named["three wide"] = ([wide, y, n], [wide.sum(axis=0) + y])
    return named


def test_graphs_have_text_and_no_two_share_it():
    texts = {name: describe_graph(*graph) for name, graph in graphs().items()}
    assert None not in texts.values()
    assert [(one, other) for one, other in combinations(texts, 2) if texts[one] == texts[other]] == []


def test_what_variables_are_called_and_when_they_were_made_is_no_part_of_it():
    x, z = pt.matrix("x"), pt.matrix("z")
    assert describe_graph([z], [pt.exp(z).sum(axis=0)]) == describe_graph([x], [pt.exp(x).sum(axis=0)])


def test_each_process_has_the_same_text():
    command = [
        sys.executable,
        "-c",
        "from tests.modeling import test_graph_text as own; print(own.describe_zoo('mace')[0])",
    ]
    environment = os.environ | {"PYTHONHASHSEED": "17"}
    printed = subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, text=True, capture_output=True)
    assert printed.stdout.strip() == describe_zoo("mace")[0]


def describe_zoo(name, **sizes):
    """Return the text of a model's graph, and what PyTensor compares it by."""
    model = ba.get_model(name)
    flat = flatten(model.build(random_data(model, np.random.default_rng(0), **sizes)))
    inputs, outputs, _ = read_data(flat.values, [flat.logp, *flat.kept.values()])
    return describe_graph(inputs, outputs), name_graph(inputs, outputs)


ZOO = list(ba.list_models()["name"])


@pytest.mark.parametrize("names", [ZOO[:4], pytest.param(ZOO, marks=pytest.mark.slow)], ids=["some", "all"])
def test_the_zoos_graphs_share_text_as_they_are_equal(names):
    found = [describe_zoo(name, labels=labels) for name in names for labels in (2, 3, 4)]
    assert None not in [text for text, _ in found]
    pairs = list(combinations(found, 2))
    assert [one[0] == other[0] for one, other in pairs] == [one[1] == other[1] for one, other in pairs]


def tripled(x):
    return FromFunctionOp(lambda one: 3 * one, [pt.dvector], [pt.dvector], None)(x)


def scanned(x):
    return pytensor.scan(lambda one: 2 * one, sequences=[x], return_updates=False)


def composed(x):
    inner = pt.dvector()
    return OpFromGraph([inner], [pt.exp(inner)])(x)


@pytest.mark.parametrize("make", [tripled, scanned, composed, lambda x: x + pytensor.shared(np.ones(2))])
def test_what_cannot_be_told_has_no_text(make):
    x = pt.dvector("x")
    assert describe_graph([x], [make(x)]) is None
