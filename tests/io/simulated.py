"""How the data sets `@tickets` and `@judges` were made, all of it simulated.

`@tickets`: sixty support tickets, sorted into three topics by five people of falling competence, by MACE. `@judges`:
the answers of three systems to eighty questions, said to pass or fail by six language models that err together, by
`shared_errors`; twenty answers of each system have a human label. The files that ship in `named_data` are what
these functions return.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno.models import MACE
from bayesanno.simulation.designs import make_design
from bayesanno.simulation.simulate import simulate
from tests.models.processes import PROCESSES

SEED = 1979
TEXTS = (
    'Could you add dark mode, "soon", and export?',
    "The page stays blank after I sign in",
    "I was charged twice",
    "Where can I change my card?",
    "The app closes when I upload a photo",
    "Please let us sort by date",
)
JUDGES = ("alder-large", "alder-small", "birch-large", "birch-small", "cedar-large", "cedar-small")
PASS_RATES = {"v1": 0.55, "v2": 0.7, "v3": 0.72}


def make_tickets() -> pd.DataFrame:
    """Simulate `@tickets`."""
    tickets, workers = [f"T{number:03d}" for number in range(60)], [f"w{number}" for number in range(1, 6)]
    design = make_design(
        items=tickets, annotators=workers, labels=("billing", "bug", "feature"), per_item=5, random_seed=SEED
    )
    parameters = {
        "prevalence": [0.4, 0.35, 0.25],
        "competence": [0.95, 0.85, 0.65, 0.5, 0.3],
        "strategy": np.full((5, 3), 1 / 3),
    }
    as_a_story = type("Story", (MACE,), {"generate": PROCESSES["mace"]})()  # the file has its random numbers
    data, _ = simulate(as_a_story, design, parameters=parameters, random_seed=SEED)
    said = data.to_frame()
    start = datetime(2026, 3, 1, 10)
    said["time"] = [(start + timedelta(minutes=at)).isoformat(timespec="minutes") for at in range(1, len(said) + 1)]
    said["question"] = [f"{TEXTS[int(ticket[1:]) % len(TEXTS)]} ({ticket})" for ticket in said["item"]]
    named = said.rename(columns={"annotator": "worker", "item": "ticket", "label": "topic"})
    return named[["time", "worker", "ticket", "question", "topic"]]


def make_judges() -> pd.DataFrame:
    """Simulate `@judges`."""
    rng, parts = np.random.default_rng(SEED), []
    for system, rate in PASS_RATES.items():
        design = make_design(
            items=[f"{system}-{number:02d}" for number in range(1, 81)], annotators=JUDGES, labels=("fail", "pass"),
            per_item=len(JUDGES), random_seed=SEED,
        )  # fmt: skip
        parameters = {
            "prevalence": [1 - rate, rate],
            "ability": [2.2, 1.7, 2.0, 1.5, 1.6, 1.0],
            "loading": [1.0, 1.0, 0.8, 0.8, 0.5, 0.5],
            "habit": np.tile([-0.2, 0.2], (len(JUDGES), 1)),
        }
        data, _ = simulate("shared_errors", design, parameters=parameters, random_seed=int(rng.integers(2**31)))
        said = data.to_frame().rename(columns={"item": "output_id", "annotator": "model", "label": "verdict"})
        known = set(rng.choice(data.items, 20, replace=False).tolist())
        said["human_label"] = [
            gold if item in known else "" for item, gold in zip(said["output_id"], said["gold"], strict=True)
        ]
        parts.append(said.assign(system=system))
    return pd.concat(parts)[["output_id", "system", "model", "verdict", "human_label"]]
