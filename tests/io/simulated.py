"""How the data set `@judges` was made, all of it simulated.

The answers of three systems to eighty questions are said to pass or fail by six language models that err together, by
`shared_errors`; twenty answers of each system have a human label. The file that ships, `named_data/judges.csv`, is
`make_judges()` as it came out.
"""

from __future__ import annotations

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno.data.designs import make_design
from bayesanno.simulation.simulate import simulate

SEED = 1979
JUDGES = ("alder-large", "alder-small", "birch-large", "birch-small", "cedar-large", "cedar-small")
PASS_RATES = {"v1": 0.55, "v2": 0.7, "v3": 0.72}


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
