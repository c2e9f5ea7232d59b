"""Ratings: who rated which item how high, on a scale with two ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.lazy import pd, pt, xr
from bayesanno._core.messages import DataError
from bayesanno.data.designs import make_design
from bayesanno.data.labelled import divide
from bayesanno.data.patterns import Layout, link_annotators, match_answers
from bayesanno.data.ratings import RatingData
from bayesanno.modeling.arguments import MEAN, SD, RatingDesign, Ratings
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.kinds.annotations import (
    COLUMNS,
    of_annotations,
    read_columns,
    read_names,
    recode_names,
    store_columns,
)
from bayesanno.modeling.kinds.base import (
    ITEM_PATTERN,
    LEVEL_OF_DRAW,
    PATTERN_ITEM,
    AnswerTable,
    ArrayName,
    Arrays,
    Axis,
    IndexArray,
    Kind,
    Measure,
    Patterns,
    Statistic,
    find_in_links,
    measure_by,
    require_one_column,
)
from bayesanno.modeling.kinds.counts import OF_COMPARISONS

RATING, KNOWN = ArrayName("rating"), ArrayName("known_value")
BINS = 10  # of the scale, in the histogram of ratings
LEAST_SHARED = 20  # items that two annotators both rated, to compare their errors
MOST_PAIRS = 100
EVEN = (0.0, 100.0)  # the scale of designs


class RatingKind(Kind):
    """Numbers on a scale."""

    data_class = RatingData
    observed, values, dim = "ratings", RATING, "annotation"
    size = ("W", "the width of a scale that begins at 0", 100)
    reads = "ratings, in one column of numbers"
    refused = ("labels", "unsure", "drop_unsure", "positive", "add", "count", *OF_COMPARISONS)
    options: ClassVar[Mapping[str, tuple[str, str]]] = {
        "scale": (
            "LOW:HIGH",
            "The ends of a scale of ratings; for a fit by default the lowest and the highest rating.",
        )
    }

    # ---- the graph of a model

    @override
    def find_patterns(self, data: RatingData, *, collapse: bool = True) -> Patterns:
        """Return each item as a pattern of its own: two items hardly ever have the same ratings."""
        items, kept = np.arange(data.n_items), np.argsort(data.item, kind="stable")
        layout = Layout(items, items, kept, data.item[kept], np.argsort(kept))
        return Patterns({"": layout}, items, items)

    @override
    def arrays(self, data: RatingData, patterns: Patterns) -> Arrays:
        own = {RATING: IndexArray(data.value), KNOWN: IndexArray(data.known_values, Axis.PATTERN)}
        return {**own, **patterns.arrays, **of_annotations(data, patterns.layouts[""])}

    @override
    def answers(self, data: RatingData, given: Mapping[ArrayName, pt.TensorVariable]) -> Ratings:
        own = {key.role: variable for key, variable in given.items()}
        return Ratings(
            annotator=own["kept_annotator"],
            item=own["kept_pattern"],
            value=given[RATING][own["kept_annotation"]],
            n_items=given[PATTERN_ITEM].shape[0],
            known=given[KNOWN],
            level=given.get(LEVEL_OF_DRAW),
        )

    @override
    def design(self, data: RatingData, given: Mapping[ArrayName, pt.TensorVariable]) -> RatingDesign:
        annotator, item = (given[ArrayName(f"annotation_{of}")] for of in ("annotator", "item"))
        return RatingDesign(annotator, item, n_items=given[ITEM_PATTERN].shape[0], known=given[KNOWN])

    # ---- a fit

    @override
    def to_groups(self, data: RatingData) -> dict[str, xr.Dataset]:
        long = {f"annotation_{name}": ("annotation", getattr(data, name)) for name in ("item", "annotator")}
        known = {"gold": ("item", data.gold_values), "control": ("item", data.known_values)}
        about = {"scale": ("end", list(data.scale)), "scale_observed": ((), data.scale_observed)}
        names = {"item": list(data.items), "annotator": list(data.annotators)}
        groups = {
            "observed_data": xr.Dataset({self.observed: (self.dim, data.value)}),
            "constant_data": xr.Dataset({**long, **known, **about}, coords=names),
        }
        return groups | {group: store_columns(data, of) for of, group in COLUMNS.items() if getattr(data, group)}

    @override
    def from_groups(self, groups: Mapping[str, xr.Dataset]) -> RatingData:
        observed, constant = groups["observed_data"], groups["constant_data"]
        items = read_names(constant, "item")
        known = {}
        for name, field in (("gold", "gold"), ("control", "controls")):
            pairs = zip(items, constant[name].values.tolist(), strict=True)
            known[field] = {item: value for item, value in pairs if np.isfinite(value)}
        columns: dict[str, Any] = {name: read_columns(groups[name]) for name in COLUMNS.values() if name in groups}
        return RatingData(
            item=constant["annotation_item"].values,
            annotator=constant["annotation_annotator"].values,
            value=observed[self.observed].values,
            items=items,
            annotators=read_names(constant, "annotator"),
            scale=tuple(constant["scale"].values.tolist()),
            scale_observed=bool(constant["scale_observed"]),
            is_open=True,
            **known,
            **columns,
        )

    @override
    def tables(self, data: RatingData) -> list[AnswerTable]:
        return [AnswerTable(data, data.value, OF_RATINGS, "ratings", BINS, rules=RULES)]

    @override
    def find_in_design(self, data: RatingData) -> list[Finding]:
        if data.controls:
            return []
        return find_in_links(link_annotators(data.item, data.annotator, data.n_items, data.n_annotators), data)

    @override
    def recode(self, known: RatingData, new: RatingData, model: Any) -> RatingData:
        codes = recode_names("annotator", known.annotators, new.annotators)[new.annotator]
        same = {name: getattr(known, name) for name in ("annotators", "annotator_columns", "scale", "scale_observed")}
        recoded = replace(new, annotator=codes, **same)
        model.check(recoded)
        return recoded

    @override
    def tabulate_items(self, part: Any) -> pd.DataFrame:
        """Return the table of values, without intervals."""
        data = part.data
        table = pd.DataFrame({"item": pd.Series(list(data.items), dtype="str")})
        table["value"], table["sd"] = part.latent[MEAN].values, part.latent[SD].values
        table["expected"] = part.latent["expected"].values
        table["n_ratings"] = data.by_item
        table["mean_rating"] = _average(data, data.value)
        return table.assign(gold=data.gold_values) if data.gold else table

    @override
    def item_statistic(self, data: RatingData) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        return "mean_rating", lambda values: np.nan_to_num(_average(data, values), nan=data.scale[0])

    # ---- simulated answers

    @override
    def put_answers(self, design: RatingData, model: Any, state: np.ndarray, answers: np.ndarray) -> RatingData:
        gold = dict(zip(design.items, state.tolist(), strict=True))
        return replace(design, value=answers, gold=gold, is_open=True)

    @override
    def make_design(self, **asked: Any) -> RatingData:
        return _of_design(make_design(**{name: asked[name] for name in asked if name != "dimensions"} | {"labels": 2}))

    @override
    def make_smallest(self, more: int = 0) -> RatingData:
        design = make_design(items=3, annotators=3, labels=2, per_item=3, random_seed=1)
        return replace(_of_design(design), scale=(0.0, 100.0 + more))

    @override
    def without_truth(self, design: RatingData) -> RatingData:
        return replace(design, gold={}, controls={})

    @override
    def find_measures(self, table: AnswerTable, states: tuple[str, ...] | None) -> dict[str, Measure]:
        data: RatingData = table.data
        low, high = data.scale
        return {
            "at_ends": lambda _, values: float(((values <= low) | (values >= high)).mean()),
            "sd_of_values": lambda truth, _: float(truth.std()),
            "within_items": measure_by(within_items(data)),
        }

    # ---- files

    @override
    def read_any(self, source: Any) -> RatingData:
        from bayesanno.io.ratings import read_ratings

        return read_ratings(source)

    @override
    def read(self, model: Any, source: Any, options: Any) -> tuple[RatingData, str]:
        require_one_column(model, options)
        data = read_by_options(source, options)
        return data, data.describe()


def read_by_options(source: Any, options: Any) -> RatingData:
    """Return the ratings in a source, by the options of the command line."""
    from bayesanno.io.ratings import read_ratings

    named = {name: options[name] for name in ("gold_file", "controls", "items", "annotators") if name in options}
    if "scale" in options:
        named["scale"] = read_scale(options["scale"])
    return read_ratings(source, **options.reading, **named)


def read_scale(text: str) -> tuple[float, float]:
    """Return the ends of a scale, from LOW:HIGH."""
    low, colon, high = text.partition(":")
    try:
        return (float(low), float(high if colon else ""))
    except ValueError:
        raise DataError(f"--scale {text}: write its two ends, LOW:HIGH, as in --scale 0:100") from None


def _of_design(design: Any) -> RatingData:
    """Return a design of annotations as one of ratings on a scale from 0 to 100, each in the middle."""
    names = {name: getattr(design, name) for name in ("item", "annotator", "items", "annotators")}
    return RatingData(value=np.full(design.n_annotations, sum(EVEN) / 2), scale=EVEN, **names)


# -------------------------------------------------------------------------------------------- statistics of answers


def _average(data: RatingData, values: np.ndarray) -> np.ndarray:
    """Return the mean of numbers (annotation,) over each item's ratings, nan without any; (item,)."""
    return divide(np.bincount(data.item, values, minlength=data.n_items), data.by_item)


def ratings(data: RatingData) -> Statistic:
    """Count the ratings in ten parts of the scale; those beyond an end are in the last part."""
    low, high = data.scale
    edges = np.linspace(low, high, BINS + 1)
    of = tuple(f"{low:g} to {high:g}" for low, high in pairwise(edges))
    return Statistic(of, lambda x: np.bincount(np.clip(np.searchsorted(edges, x) - 1, 0, BINS - 1), minlength=BINS))


def beyond_ends(data: RatingData) -> Statistic:
    """Measure the share of ratings beyond the ends of the scale: a model with open ends may predict some."""
    low, high = data.scale
    return Statistic(("",), lambda values: np.array([((values < low) | (values > high)).mean()]))


def outliers(data: RatingData) -> Statistic:
    """Measure the share of ratings that are more than three standard deviations of their annotator off."""
    who, n = data.annotator, data.by_item[data.item]
    several = n > 1
    if not several.any():
        raise DataError("no item has two ratings")
    factor = np.sqrt(n / np.maximum(n - 1, 1))  # distances from a mean that has the rating itself are smaller by this
    size = np.bincount(who[several], minlength=data.n_annotators)
    kept = several & (size[who] > 2)

    def average(values: np.ndarray) -> np.ndarray:
        """Return the mean over each annotator's ratings of items with several, (annotation,)."""
        return divide(np.bincount(who[several], values[several], minlength=size.size), size)[who]

    def measure(values: np.ndarray) -> np.ndarray:
        away = (values - _average(data, values)[data.item]) * factor
        away -= average(away)
        return np.array([(kept & (np.abs(away) > 3 * np.sqrt(average(away**2)))).mean()])

    return Statistic(("",), measure)


def slopes(data: RatingData) -> Statistic:
    """Measure how much each annotator's ratings rise with the mean of the others' ratings of the same items."""
    who, n = data.annotator, data.by_item[data.item]
    kept = n > 1
    used = np.flatnonzero(np.bincount(who[kept], minlength=data.n_annotators) >= LEAST_SHARED)
    if not used.size:
        raise DataError(f"nobody has rated {LEAST_SHARED} items that others have rated too")

    def measure(values: np.ndarray) -> np.ndarray:
        total = np.bincount(data.item, values, minlength=data.n_items)[data.item]
        others = np.where(kept, (total - values) / np.maximum(n - 1, 1), 0)
        x, y, one = others[kept], values[kept], who[kept]
        m = np.maximum(np.bincount(one, minlength=data.n_annotators), 1)
        away = x - (np.bincount(one, x, minlength=m.size) / m)[one]
        return divide(np.bincount(one, away * y, minlength=m.size), np.bincount(one, away**2, minlength=m.size))[used]

    return Statistic(tuple(data.annotators[code] for code in used), measure)


def within_items(data: RatingData) -> Statistic:
    """Measure the standard deviation, over items, of the logs of the spreads of their ratings."""
    kept = data.by_item > 1
    if kept.sum() < 2:
        raise DataError("fewer than two items have two ratings")

    def measure(values: np.ndarray) -> np.ndarray:
        variance = (_average(data, values**2) - _average(data, values) ** 2)[kept]
        least = (1e-3 * data.width) ** 2
        return np.array([np.log(np.maximum(variance, least)).std() / 2])

    return Statistic(("",), measure)


def pair_errors(data: RatingData) -> Statistic:
    """Measure the covariance of the errors of two annotators, by the ratings of others, in standard errors.

    The mean, over two other annotators of an item, of the product of one's distance from the first with the other's
    distance from the second.  Errors that are independent give a covariance of 0; copies give the variance of the error
    that they share, although their ratings look precise beside each other.
    Of the pairs, those that share most items are compared, by their first ratings of an item.
    """
    who, n_annotators = data.annotator, data.n_annotators
    left, right = match_answers(data.item, who)
    code = who[left] * n_annotators + who[right]
    pairs, n = np.unique(code, return_counts=True)
    each = []
    for pair in pairs[np.argsort(-n, kind="stable")[:MOST_PAIRS]]:
        both, rows = divmod(int(pair), n_annotators), np.flatnonzero(code == pair)
        items, first = np.unique(data.item[left[rows]], return_index=True)
        own = np.full(data.n_items, -1)
        own[items] = np.arange(items.size)
        others = np.flatnonzero((own[data.item] >= 0) & ~np.isin(who, both))
        m = np.bincount(own[data.item[others]], minlength=items.size)
        if (m > 1).sum() >= LEAST_SHARED:
            each.append(
                (
                    tuple(data.annotators[one] for one in both),
                    left[rows][first],
                    right[rows][first],
                    others,
                    own[data.item[others]],
                    m,
                )
            )
    if not each:
        raise DataError(f"no two annotators share {LEAST_SHARED} items with two others")

    def measure(values: np.ndarray) -> np.ndarray:
        centred = values - divide(np.bincount(who, values, minlength=n_annotators), data.by_annotator)[who]
        found = []
        for _, one, other, others, place, m in each:
            x, y = (centred[of][place] - centred[others] for of in (one, other))
            sums = [np.bincount(place, of, minlength=m.size) for of in (x, y, x * y)]
            product = ((sums[0] * sums[1] - sums[2]) / np.maximum(m * (m - 1), 1))[m > 1]
            found.append(product.mean() / max(product.std() / np.sqrt(product.size), 1e-9))
        return np.array(found)

    about = tuple(names for names, *_ in each)
    return Statistic(tuple(map(" & ".join, about)), measure, by_largest=True, about=about)


OF_RATINGS = {
    "ratings": ratings,
    "beyond_ends": beyond_ends,
    "outliers": outliers,
    "slopes": slopes,
    "within_items": within_items,
    "pair_errors": pair_errors,
}
RULES = {  # the rules of findings, by the statistic that is off
    "beyond_ends": "ratings-at-ends",
    "outliers": "ratings-outliers",
    "slopes": "ratings-slopes",
    "within_items": "ratings-ambiguous",
    "pair_errors": "ratings-copies",
}
