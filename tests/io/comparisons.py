"""How the data set `@pairs` was made: answers of six language models, compared by five judges, all of it simulated.

It is simulated by model B with a class prior of pairs. Irene is an excellent judge, Jamal and Keiko are good ones, Lars
favours the model that is shown first, and Mona is careless. The file that ships, `named_data/pairs.csv`, is
`make_pairs()` as it came out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno.data.columns import Column
from bayesanno.data.designs import make_design
from bayesanno.modeling.pairs import Pairs
from bayesanno.modeling.registry import get_model
from bayesanno.simulation.simulate import simulate

if TYPE_CHECKING:
    import xarray

SEED = 1952
SIDES = ("model_a", "model_b")
STRENGTHS = {"aurora-7b-chat": -0.7, "birch-13b-instruct": -0.2, "cobalt-34b-chat": 0.8, "delta-8x7b-instruct": 0.3,
             "ember-70b-chat": 1.4, "fjord-3b-chat": -1.6}  # fmt: skip
TIE = -0.7
CONFUSION = {  # rows are the truth, columns the answer: model_a, model_b, tie
    "irene": [[0.95, 0.02, 0.03], [0.02, 0.95, 0.03], [0.04, 0.04, 0.92]],
    "jamal": [[0.85, 0.07, 0.08], [0.07, 0.85, 0.08], [0.10, 0.10, 0.80]],
    "keiko": [[0.80, 0.08, 0.12], [0.08, 0.80, 0.12], [0.12, 0.12, 0.76]],
    "lars": [[0.93, 0.03, 0.04], [0.42, 0.50, 0.08], [0.48, 0.08, 0.44]],
    "mona": [[0.46, 0.30, 0.24], [0.30, 0.46, 0.24], [0.32, 0.32, 0.36]],
}


def make_pairs() -> tuple[pd.DataFrame, xarray.Dataset]:
    """Simulate `@pairs`.

    Returns
    -------
    DataFrame, xarray.Dataset
        The table as it ships, and the parameters that made it.
    """
    questions = [f"q{number:03d}" for number in range(1, 301)]
    labels = (*SIDES, "tie")
    asked = make_design(items=questions, annotators=[*CONFUSION], labels=labels, per_item=(2, 3), random_seed=SEED)
    rng, systems = np.random.default_rng([SEED, 1]), np.array([*STRENGTHS])
    pairs = np.stack([rng.choice(systems, 2, replace=False) for _ in questions])  # (item, side)
    columns = {side: Column.of(pairs[:, at], tuple(systems)) for at, side in enumerate(SIDES)}
    model = get_model("model_b", {"class_prior": Pairs(first=SIDES[0], second=SIDES[1])})
    parameters = {"strength": [*STRENGTHS.values()], "tie": TIE, "confusion": [*CONFUSION.values()]}
    data, truth = simulate(model, replace(asked, item_columns=columns), parameters=parameters, random_seed=SEED)
    sides = {side: np.array(data.item_columns[side].names)[data.item] for side in SIDES}
    said = data.to_frame().rename(columns={"item": "question_id", "annotator": "judge", "label": "winner"})
    return said.assign(**sides)[["question_id", *SIDES, "judge", "winner", "gold"]], truth
