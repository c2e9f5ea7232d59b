"""Gains against fits by NUTS with the answer added."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import entropy

import bayesanno as ba
from bayesanno.planning.gains import Gains, information
from bayesanno.planning.of_fit import find_candidates

N_PAIRS = 20
SETTINGS = {"draws": 1500, "tune": 500, "chains": 4, "random_seed": 1, "progressbar": False}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rhat")  # by a hair, in one fit or two of forty
def test_gains_are_the_mean_change_of_entropy_of_fits_with_the_answer(rng):
    design = ba.make_design(items=60, annotators=6, labels=["no", "yes"], per_item=4, random_seed=1)
    data, _ = ba.simulate("model_b", design, random_seed=3)
    fit = ba.fit("model_b", data, **SETTINGS)
    asked = find_candidates(fit, "this test", rng)
    gains = Gains(asked.states, information, rng).gain
    closed = np.zeros(gains.shape, dtype=bool)
    closed[data.item, data.annotator] = True
    unsure = entropy(asked.states.probability, axis=1) > 0.3
    pairs = rng.permutation(np.argwhere(~closed & unsure[:, None]))[:N_PAIRS]
    assert len(pairs) == N_PAIRS
    joint = np.einsum("sikn,sjvkn->ijv", asked.states.state, asked.states.answer) / asked.states.n_draws
    errors = []
    for i, j in pairs:
        item, found = data.items[i], -entropy(asked.states.probability[i])
        for code, label in enumerate(data.labels):
            table = pd.DataFrame({"item": [item], "annotator": [data.annotators[j]], "label": [label]})
            after = ba.fit("model_b", ba.add_annotations(data, table), **SETTINGS)
            found -= joint[i, j, code] * -entropy(after["latent"]["probability"].sel(item=item).to_numpy())
        errors.append(gains[i, j] + found)
    errors = np.array(errors)
    # the Monte Carlo error of a change of entropy by 6,000 draws, and of the mean of twenty
    assert errors.std() < 0.01
    assert abs(errors.mean()) < 0.005
    assert gains[tuple(pairs.T)].mean() > 0.02
