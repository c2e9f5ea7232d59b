"""Ratings to ask for: whose rating of which item reduces the expected variance of its value most.

Given the parameters, one more rating by annotator j of an item whose value has the variance v leaves

    v' = 1 / (1 / v + (slope_j / sd_j)^2)

so the gain is v - v', averaged over draws. The formula is exact for normal noise and open ends. What a rating says of
its annotator is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesanno._core.lazy import pd
from bayesanno._core.messages import counted
from bayesanno.fits.view import FitView, require
from bayesanno.modeling.arguments import MEAN, SD
from bayesanno.modeling.posterior import compile_formula, take_draws

MOST_DRAWS = 400


@dataclass
class ValueGains:
    """Which ratings can be asked for, and their gains, which change as ratings are chosen.

    Attributes
    ----------
    data : RatingData
    is_known : array of bool, shape (item,)
        Whether the true value is known.
    variance : array, shape (draw, item)
    precision : array, shape (draw, annotator)
        (slope / sd)^2.
    gain : array, shape (item, annotator)
    """

    data: Any
    is_known: np.ndarray
    variance: np.ndarray
    precision: np.ndarray
    gain: np.ndarray

    @classmethod
    def of_fit(cls, view: FitView) -> ValueGains:
        """Return the gains of a fit of ratings."""
        require(view, "values", "suggest_annotations")
        draws = take_draws(view.posterior, MOST_DRAWS)
        formula = compile_formula(view.model, view.data, draws, view.known)
        sd = np.array([one.numbers[""][1][formula.patterns.of_item] for one in formula.evaluate()])
        slope = draws["slope"].values[0] if "slope" in draws else 1.0
        precision = (slope / draws["sd"].values[0]) ** 2
        gains = cls(view.data, np.isfinite(view.data.known_values), sd**2, precision, np.zeros(0))
        gains.gain = np.array([gains.find(item) for item in range(view.data.n_items)])
        return gains

    def find(self, item: int) -> np.ndarray:
        """Return the gain of one more rating of an item by each annotator, (annotator,)."""
        v = self.variance[:, item, None]  # (draw, 1)
        product = v * self.precision
        return np.asarray((v * product / (1 + product)).mean(axis=0))

    def choose(self, item: int, annotator: int) -> bool:
        """Take a rating as asked for; return whether the gains of other items change."""
        v = self.variance[:, item]
        self.variance[:, item] = v / (1 + v * self.precision[:, annotator])
        self.gain[item] = self.find(item)
        return False

    def find_open(self) -> np.ndarray:
        """Return which pairs can be asked: without a rating, and with an unknown true value; (item, annotator)."""
        is_open = np.repeat(~self.is_known[:, None], self.data.n_annotators, axis=1)
        is_open[self.data.item, self.data.annotator] = False
        return is_open

    def describe(self, view: FitView, items: np.ndarray) -> pd.DataFrame:
        """Return the names of items, their present values in the fit, and why to ask about them."""
        (part,) = require(view, "values", "suggest_annotations")
        n = self.data.by_item[items].tolist()
        table = pd.DataFrame({"item": pd.Series([self.data.items[i] for i in items], dtype="str")})
        table["value_so_far"], table["sd"] = part.latent[MEAN].values[items], part.latent[SD].values[items]
        return table.assign(why=[f"its value rests on {counted(one, 'rating')}" for one in n])
