"""A graph that nobody holds lets go of its data, and what is made once serves the next one, too."""

import gc
import weakref

import pytensor.tensor as pt
import pytest

import bayesanno as ba
from bayesanno.modeling.likelihood import generate_in_numpy
from tests.samples import tiny_data


@pytest.mark.parametrize("name", ["model_b", "model_a", "mace", "item_difficulty"])
def test_no_graph_keeps_the_data_that_it_was_built_of(name):
    data = tiny_data()
    seen = weakref.ref(data)
    graph = ba.get_model(name).build(data)
    del data, graph
    gc.collect()
    assert seen() is None


def test_a_process_in_numpy_is_one_operation_of_all_graphs():
    def draw(_, rng):
        return rng.integers(2, size=2), rng.integers(2, size=3)

    def other(_, rng):
        return rng.integers(3, size=2), rng.integers(3, size=3)

    made = [
        generate_in_numpy(one, [pt.vector()], states_from=[], n_states=2, n_annotations=3)[0]
        for one in (draw, draw, other)
    ]
    first, again, third = [states.owner.inputs[0].owner.op for states in made]
    assert first == again
    assert first != third
