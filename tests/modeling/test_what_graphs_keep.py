"""A graph that nobody holds lets go of its data."""

import gc
import weakref

import pytest

import bayesanno as ba
from tests.samples import tiny_data


@pytest.mark.parametrize("name", ["model_b", "item_difficulty"])
def test_no_graph_keeps_the_data_that_it_was_built_of(name):
    data = tiny_data()
    seen = weakref.ref(data)
    graph = ba.get_model(name).build(data)
    del data, graph
    gc.collect()
    assert seen() is None
