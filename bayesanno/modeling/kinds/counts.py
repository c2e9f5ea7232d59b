"""Counts: how many of an item's answers were positive. There are no annotators and no true labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.lazy import pd, pt, xr
from bayesanno._core.messages import counted
from bayesanno.data.counts import CountData
from bayesanno.data.designs import make_count_design
from bayesanno.data.patterns import find_joint_patterns
from bayesanno.modeling.arguments import HARD, CountDesign, Counts
from bayesanno.modeling.kinds.annotations import (
    AnnotationKind,
    last_of_two,
    read_by_options,
    read_names,
)
from bayesanno.modeling.kinds.base import (
    PATTERN_ITEM,
    AnswerTable,
    ArrayName,
    Arrays,
    IndexArray,
    Kind,
    Measure,
    Patterns,
    Statistic,
    measure_by,
    require_one_column,
)  # fmt: skip

SUCCESSES, TRIALS = ArrayName("positive"), ArrayName("trials")
_OF_ANSWERS = ("annotator", "label", "labels", "unsure", "missing", "strip", "ignore_case", "same")
_OF_TABLES = ("format", "columns", "transpose")
OF_COMPARISONS = ("pairs", "first", "second", "tie", "order", "baseline", "by", "ranking", "ranks", "best_worst")
OF_ITEMS = ("gold", "gold_file", "controls", "add", "items", "annotators", *OF_COMPARISONS)  # that only labels have


class CountKind(Kind):
    """Positive answers out of all answers."""

    data_class = CountData
    size = ("n", "answers to an item", 3)
    observed, values, dim = "successes", SUCCESSES, "item"
    reads = "counts, without true labels or items"
    refused = OF_ITEMS
    options: ClassVar[Mapping[str, tuple[str, str]]] = {
        "successes": ("COL", "The column of positive answers (counts)."),
        "trials": ("COL", "The column of all answers (counts)."),
    }

    @override
    def find_patterns(self, data: CountData, *, collapse: bool = True) -> Patterns:
        pattern = find_joint_patterns([data.successes, data.trials]) if collapse else np.arange(data.n_items)
        first = np.unique(pattern, return_index=True)[1]
        return Patterns({}, first, pattern)

    @override
    def arrays(self, data: CountData, patterns: Patterns) -> Arrays:
        return {SUCCESSES: IndexArray(data.successes), TRIALS: IndexArray(data.trials), **patterns.arrays}

    @override
    def answers(self, data: CountData, given: Mapping[ArrayName, pt.TensorVariable]) -> Counts:
        item = given[PATTERN_ITEM]
        own = {key.role: variable for key, variable in given.items()}
        return Counts(given[SUCCESSES][item], given[TRIALS][item], n_items=item.shape[0], index=own)

    @override
    def design(self, data: CountData, given: Mapping[ArrayName, pt.TensorVariable]) -> CountDesign:
        return CountDesign(trials=given[TRIALS], n_items=given[TRIALS].shape[0])

    @override
    def to_groups(self, data: CountData) -> dict[str, xr.Dataset]:
        groups = {"observed_data": "successes", "constant_data": "trials"}
        coords = {"item": list(data.items)}
        return {group: xr.Dataset({of: ("item", getattr(data, of))}, coords=coords) for group, of in groups.items()}

    @override
    def from_groups(self, groups: Mapping[str, xr.Dataset]) -> CountData:
        observed, constant = groups["observed_data"], groups["constant_data"]
        items = read_names(constant, "item")
        return CountData(items=items, successes=observed["successes"].values, trials=constant["trials"].values)

    @override
    def tables(self, data: CountData) -> list[AnswerTable]:
        return [AnswerTable(data, data.successes, OF_COUNTS, "histogram", int(data.trials.max()) + 1)]

    @override
    def recode(self, known: CountData, new: CountData, model: Any) -> CountData:
        # One new item need not show all types: the model is checked with the new items and the fit's together.
        items = (*new.items, *(f"{item} (of the fit)" for item in known.items))
        each = {of: np.concatenate([getattr(data, of) for data in (new, known)]) for of in ("successes", "trials")}
        model.check(CountData(items=items, **each))
        return new

    @override
    def tabulate_items(self, part: Any) -> pd.DataFrame:
        """Return the label table: the posterior of each type, and the counts."""
        table = pd.DataFrame({"item": pd.Series(list(part.data.items), dtype="str")})
        for code, state in enumerate(part.states):
            table[f"p[{state}]"] = part.posterior.values[:, code]
        table["successes"], table["trials"] = part.data.successes, part.data.trials
        if HARD in part.latent:
            table[HARD] = part.latent[HARD].values
        return table

    @override
    def item_statistic(self, data: CountData) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        return self.observed, lambda successes: successes

    @override
    def put_answers(self, design: CountData, model: Any, state: np.ndarray, answers: np.ndarray) -> CountData:
        return replace(design, successes=answers)

    @override
    def make_design(self, **asked: Any) -> CountData:
        return make_count_design(**{name: asked[name] for name in ("items", "per_item", "random_seed")})

    @override
    def make_smallest(self, more: int = 0) -> CountData:
        data = CountData.from_annotations(AnnotationKind().make_smallest(), positive="yes")
        return replace(data, trials=data.trials + more)

    @override
    def find_measures(self, table: AnswerTable, states: tuple[str, ...] | None) -> dict[str, Measure]:
        data = table.data
        measures = {name: measure_by(OF_COUNTS[name](data)) for name in ("positive_share", "spread")}
        several = data.trials >= 2
        if several.any():
            trials = data.trials[several]
            measures["unanimous"] = lambda _, successes: float(np.isin(successes[several] / trials, (0, 1)).mean())
        return measures

    @override
    def read_any(self, source: Any) -> CountData:
        from bayesanno.io.counts import read_counts

        return read_counts(source)

    @override
    def read(self, model: Any, source: Any, options: Any) -> tuple[CountData, str]:
        """Read a table of counts, or count one label of annotations; unsure answers are left out."""
        from bayesanno.io.counts import holds_counts, read_counts
        from bayesanno.io.datasets import options_of
        from bayesanno.io.sources import open_source

        positive = options.get("positive")
        require_one_column(model, options)
        of_counts = {"successes", "trials"} & options.keys()
        opening = {name: options[name] for name in ("encoding", "separator") if name in options}
        if not of_counts and not options.keys() & {*_OF_ANSWERS, *_OF_TABLES, "count"} and not options_of(source):
            table = open_source(source, **opening) if isinstance(source, str) else None
            of_counts = {"counts"} if table is not None and holds_counts(table.columns) else set()
        if of_counts:
            why = f"{source} has counts already" if of_counts == {"counts"} else "--successes and --trials name counts"
            options.refuse(("positive", *_OF_ANSWERS, *_OF_TABLES), why)
            names = ("item", "successes", "trials", "count", *opening)
            data = read_counts(source, **{name: options[name] for name in names if name in options})
            return data, data.describe()
        annotations = read_by_options(source, options)
        what = repr(positive)
        if positive is None:
            positive = last_of_two(annotations)
            what = f"{positive!r} (taken as positive; --positive takes another)"
        data = CountData.from_annotations(annotations, positive=positive)
        n_unsure = int(annotations.unsure_by_annotator.sum())
        left_out = f"; {counted(n_unsure, 'unsure answer')} left out" if n_unsure else ""
        return data, data.describe(positive=what) + left_out


# -------------------------------------------------------------------------------------------- statistics of answers


def histogram(data: CountData) -> Statistic:
    """Count the items with 0, 1, 2, ... successes; all must have the same number of trials."""
    from bayesanno.agreement.histograms import count_histogram

    n_bins = count_histogram(data).size
    bins = tuple(map(str, range(n_bins)))
    return Statistic(bins, lambda successes: np.bincount(successes, minlength=n_bins).astype(float))


def positive_share(data: CountData) -> Statistic:
    """Measure the share of positive answers."""
    total = data.trials.sum()
    return Statistic(("",), lambda successes: np.array([successes.sum() / total]))


def spread(data: CountData) -> Statistic:
    """Measure the standard deviation, over items, of the share of positive answers."""
    some = data.trials > 0
    trials = data.trials[some]
    return Statistic(("",), lambda successes: np.array([(successes[some] / trials).std()]))


OF_COUNTS = {"histogram": histogram, "positive_share": positive_share, "spread": spread}
