"""Annotations: who labelled which item how.

"Unsure" answers are treated like others by statistics, since models that take them also predict them: they count as
votes, and two of them agree. Numbers that are undefined for a design (agreement of two annotators without a common
item) are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple, override

import numpy as np

from bayesanno._core.lazy import pd, pt, xr
from bayesanno._core.messages import DataError, listed
from bayesanno.agreement.pairs import agree_with_self
from bayesanno.agreement.vote import disagreed_items, name_votes, shared_items, split_vote
from bayesanno.data.annotations import AnnotationData, take_rows
from bayesanno.data.columns import Column, extend_columns, take_columns
from bayesanno.data.described import freeze, split_dimensions
from bayesanno.data.designs import make_design
from bayesanno.data.dimensions import join_dimensions
from bayesanno.data.frame import name_winners
from bayesanno.data.labelled import ANYONE, count_cells, divide
from bayesanno.data.patterns import (
    Layout,
    find_joint_patterns,
    find_patterns,
    lay_out,
    link_annotators,
    match_answers,
)
from bayesanno.graph.flat import as_size
from bayesanno.modeling.arguments import (
    DIFFICULTY_MEAN,
    HARD,
    LABEL_PROBABILITY,
    PROBABILITY,
    Answers,
    Design,
    Orders,
    measure_entropy,
)
from bayesanno.modeling.findings import Finding, check, find, threshold_of
from bayesanno.modeling.kinds.base import (
    CONTROL,
    ITEM_PATTERN,
    PATTERN_ITEM,
    ROW_OF_ITEM,
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
)  # fmt: skip

RESPONSE = ArrayName("label")  # the observed values
SWAPPED, KEPT_SWAPPED = "annotation_swapped", "kept_swapped"  # roles
MOST_PAIRS = 5_000  # pairs of annotators with rows: a crowd has millions, and replicates of each are in memory
IS_NO_CLASS = "unsure"  # whether a response is not a class; stored only if there is one
IN_ORDER = "order_declared"  # whether an order of the labels was declared; stored only if it was
SIDE = "side"  # 1 and 2 for the labels of the sides; stored only for comparisons
ENOUGH_REPEATS = 20  # pairs of answers to the same item
COLUMNS = {"item": "item_columns", "annotator": "annotator_columns"}  # groups, and fields of the data; only if any
KNOWN = {"gold": "gold", "control": "controls"}  # known labels of items: the variable, and the field of the data


class LabelKind(Kind):
    """One or several tables of annotations of the same items; patterns cover all of them together."""

    observed, values, dim = "annotations", RESPONSE, "annotation"

    # ---- the graph of a model

    @override
    def find_patterns(self, data: Any, *, collapse: bool = True) -> Patterns:
        tables = split_dimensions(data)
        pattern: np.ndarray = np.arange(data.n_items)
        if collapse:
            pattern = find_joint_patterns([find_patterns(table) for table in tables.values()])
        layouts = {name: lay_out(table, pattern) for name, table in tables.items()}
        first = np.unique(pattern, return_index=True)[1]
        return Patterns(layouts, first, pattern)

    @override
    def arrays(self, data: Any, patterns: Patterns) -> Arrays:
        arrays = {RESPONSE: IndexArray(data.label), **patterns.arrays}
        for dimension, table, own in each_table(data):
            arrays |= of_annotations(table, patterns.layouts[dimension], dimension, own.start)
        return arrays

    # ---- a fit

    @override
    def tables(self, data: Any) -> list[AnswerTable]:
        return [
            AnswerTable(table, table.label, OF_ANNOTATIONS, "votes_per_item", most_votes(table) + 1, own, dimension)
            for dimension, table, own in each_table(data)
        ]

    @override
    def find_in_design(self, data: Any) -> list[Finding]:
        tables = split_dimensions(data).values()
        return list(dict.fromkeys(one for table in tables for one in _find_in_table(table)))

    @override
    def recode(self, known: Any, new: Any, model: Any) -> Any:
        """Return new data with the codes of the fit's annotators and labels.

        In a model with a population, new annotators come after those of the fit.
        """
        before, now = split_dimensions(known), split_dimensions(new)
        if set(before) != set(now):
            raise DataError(
                f"the dimensions of this fit are {listed(tuple(before))}, and the new data have "
                f"{listed(tuple(now))}: give all of the fit's and no others"
            )
        takes_new = model.overrides("draw_annotators")
        recoded = join_dimensions({name: _recode_table(part, now[name], takes_new) for name, part in before.items()})
        model.check(recoded)
        return recoded

    @override
    def tabulate_items(self, part: Any) -> pd.DataFrame:
        """Return the label table: the most probable label, or type, of each item, and the posterior of each."""
        data, of_labels = part.data, part.kind == "labels"
        n_annotations = np.bincount(data.item, minlength=data.n_items)
        table = tabulate_posterior(
            list(data.items),
            part.states,
            part.posterior.values,
            n_annotations,
            part.votes if of_labels else None,
            name="label" if of_labels else "item_type",
            model=None if part.labels is None else part.of_model.posterior.values,
            vote=name_votes(data) if of_labels else None,
        )
        if data.has_systems:
            winners = name_winners(data, table["label"], range(data.n_items))
            table.insert(2, "winner", pd.Series(winners, dtype="str"))
        for what in (HARD, DIFFICULTY_MEAN):
            if what in part.latent:
                table[what] = part.latent[what].values
        if LABEL_PROBABILITY in part.latent:
            table["p_none"] = part.probabilities[PROBABILITY].values[:, -1]
        if part.gold:
            table["gold"] = pd.Series([part.gold.get(item, "") for item in data.items], dtype="str")
        return table

    # ---- simulated answers

    @override
    def put_answers(self, design: Any, model: Any, state: np.ndarray, answers: np.ndarray) -> Any:
        parts = {}
        of_labels = model.state_dim == "true_class"
        for number, (dimension, table, own) in enumerate(each_table(design)):
            states = model.latents(design)[number].states if of_labels else ()
            gold = _name_gold(table, states, state.reshape(-1, design.n_items)[number]) if of_labels else {}
            parts[dimension] = replace(table, label=answers[own], gold=gold)
        return join_dimensions(parts)

    @override
    def without_truth(self, design: Any) -> Any:
        tables = split_dimensions(design).items()
        return join_dimensions({name: replace(one, gold={}, controls={}) for name, one in tables})

    @override
    def find_measures(self, table: AnswerTable, states: tuple[str, ...] | None) -> dict[str, Measure]:
        data: AnnotationData = table.data
        measures = {"unanimous": measure_by(unanimous(data))} if (data.votes.sum(axis=1) >= 2).any() else {}
        if states is None:
            return measures
        code_of = np.array([data.labels.index(name) if name in data.labels else -1 for name in states])
        class_of = np.array([data.classes.index(name) if name in data.classes else -1 for name in states])
        answered = np.unique(data.item)

        def right(state: np.ndarray, label: np.ndarray) -> float:
            return float((code_of[state][data.item] == label).mean())

        def vote_right(state: np.ndarray, label: np.ndarray) -> float:
            truth = class_of[state][answered]
            hit = split_vote(replace(data, label=label))[answered, truth]
            return float((hit * (truth >= 0)).mean())  # a true label outside the labels gets no votes

        return {"right": right, "vote_right": vote_right, **measures}


class AnnotationKind(LabelKind):
    """One table of annotations."""

    data_class = AnnotationData
    reads = "annotations of one label column"

    @override
    def arrays(self, data: AnnotationData, patterns: Patterns) -> Arrays:
        return super().arrays(data, patterns) | {CONTROL: IndexArray(data.control_codes)}

    @override
    def answers(self, data: AnnotationData, given: Mapping[ArrayName, pt.TensorVariable]) -> Answers:
        return answers_of(data, given)

    @override
    def design(self, data: AnnotationData, given: Mapping[ArrayName, pt.TensorVariable]) -> Design:
        return design_of(data, given)

    @override
    def to_groups(self, data: AnnotationData) -> dict[str, xr.Dataset]:
        variables: dict[str, Any] = {name: ("item", known_of(data, field)) for name, field in KNOWN.items()}
        if data.unsure:
            variables[IS_NO_CLASS] = ("response", [name in data.unsure for name in data.labels])
        if data.order_declared:
            variables[IN_ORDER] = ((), True)
        if data.sides:
            place = {name: 1 + at for at, name in enumerate(data.sides)}
            variables[SIDE] = ("response", [place.get(name, 0) for name in data.labels])
            variables[SWAPPED] = ("annotation", data.swapped)
        groups = store_tables([data], variables, {"response": list(data.labels)})
        return groups | {group: store_columns(data, of) for of, group in COLUMNS.items() if getattr(data, group)}

    @override
    def from_groups(self, groups: Mapping[str, xr.Dataset]) -> AnnotationData:
        observed, constant = groups["observed_data"], groups["constant_data"]
        labels = read_names(constant, "response")
        is_none = constant[IS_NO_CLASS].values if IS_NO_CLASS in constant else np.zeros(len(labels), dtype=bool)
        table = read_table(observed, constant, labels, unsure=tuple(compress(labels, is_none)))
        columns: dict[str, Any] = {name: read_columns(groups[name]) for name in COLUMNS.values() if name in groups}
        if SIDE in constant:
            side = list(constant[SIDE].values)
            columns |= {"sides": (labels[side.index(1)], labels[side.index(2)]), "swapped": constant[SWAPPED].values}
        return replace(table, **columns) if columns else table

    @override
    def take_items(self, data: AnnotationData, n_answers: int, rng: np.random.Generator) -> AnnotationData:
        if data.n_annotations <= n_answers:
            return data
        n_items = max(1, round(data.n_items * n_answers / data.n_annotations))
        chosen = np.sort(rng.choice(data.n_items, n_items, replace=False))
        some, items = take_rows(data, np.isin(data.item, chosen)), tuple(data.items[code] for code in chosen)
        return replace(
            some,
            items=items,
            item=np.searchsorted(chosen, some.item),
            gold={},
            controls={item: data.controls[item] for item in items if item in data.controls},
            item_columns=take_columns(data.item_columns, chosen),
        )

    @override
    def item_statistic(self, data: AnnotationData) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        return "most_votes", lambda label: _count_votes(data, label).max(axis=1)

    @override
    def make_design(self, **asked: Any) -> AnnotationData:
        return make_design(**{name: value for name, value in asked.items() if name != "dimensions"})

    @override
    def make_smallest(self, more: int = 0) -> AnnotationData:
        said = [(f"s{item}", who, "yes" if item == at else "no") for item in range(3) for at, who in enumerate("abc")]
        said += [(f"s{3 + label}", who, f"label {label}") for label in range(more) for who in "abc"]
        return AnnotationData.from_records(said)

    @override
    def read_any(self, source: Any) -> AnnotationData:
        from bayesanno.io.read import read_annotations

        return read_annotations(source)

    @override
    def read(self, model: Any, source: Any, options: Any) -> tuple[AnnotationData, str]:
        from bayesanno.io.beside import OF_FILES, add_annotations

        if not model.two_labels:
            options.refuse(("positive",), f"{model.name} takes every label as it is")
        require_one_column(model, options)
        data = read_by_options(source, options)
        if "controls" not in options and not model.takes_controls:
            data = replace(data, controls={})  # those that an export comes with
        added = ""
        if "add" in options:
            n_before = data.n_annotations
            named = {name: value for name, value in options.items() if name in (*OF_FILES, "annotator", "label")}
            data = add_annotations(data, options["add"], **named)
            added = f"; {data.n_annotations - n_before:,} of the annotations are from {options['add']}"
        if model.two_labels:
            data = data.binarise(positive=options.get("positive", None) or last_of_two(data))
        return data, data.describe() + added


# ------------------------------------------------------------------------------------------------ arrays of a graph


def each_table(data: Any) -> list[tuple[str, AnnotationData, slice]]:
    """Return the dimension of each table, the table, and the positions of its answers among all."""
    found, begin = [], 0
    for dimension, table in split_dimensions(data).items():
        found.append((dimension, table, slice(begin, begin + table.n_annotations)))
        begin += table.n_annotations
    return found


def of_annotations(data: Any, layout: Layout, dimension: str = "", begin: int = 0) -> Arrays:
    """Return the arrays of annotators and items; `begin` is the position of the first annotation among all."""
    arrays = {
        "annotation_annotator": IndexArray(data.annotator),
        "annotation_item": IndexArray(data.item),
        "kept_annotation": IndexArray(layout.kept + begin, Axis.KEPT),
        "kept_annotator": IndexArray(data.annotator[layout.kept], Axis.KEPT),
        "kept_pattern": IndexArray(layout.kept_pattern, Axis.KEPT),
    }
    if getattr(data, "has_both_orders", False):
        swapped = data.swapped.astype(np.int64)
        arrays |= {SWAPPED: IndexArray(swapped), KEPT_SWAPPED: IndexArray(swapped[layout.kept], Axis.KEPT)}
    return {ArrayName(role, dimension): array for role, array in arrays.items()}


def answers_of(data: AnnotationData, given: Mapping[ArrayName, pt.TensorVariable], dimension: str = "") -> Answers:
    """Return the argument of a formula for one table."""
    own = {key.role: variable for key, variable in given.items() if key.dimension == dimension}
    return Answers(
        annotator=own["kept_annotator"],
        item=own["kept_pattern"],
        n_items=given[PATTERN_ITEM].shape[0],
        all_responses=given[RESPONSE],
        kept=own["kept_annotation"],
        control=given[CONTROL][given[PATTERN_ITEM]] if CONTROL in given else None,
        n_annotators=as_size(data.n_annotators),
        n_responses=as_size(data.n_labels),
        names_class=_names_class(data),
        index=own,
        orders=Orders(own[KEPT_SWAPPED], *data.exchange) if KEPT_SWAPPED in own else None,
    )


def design_of(data: AnnotationData, given: Mapping[ArrayName, pt.TensorVariable], dimension: str = "") -> Design:
    """Return the argument of a generative process for one table."""
    swapped = given.get(ArrayName(SWAPPED, dimension))
    return Design(
        annotator=given[ArrayName("annotation_annotator", dimension)],
        item=given[ArrayName("annotation_item", dimension)],
        n_items=given[ITEM_PATTERN].shape[0],
        names_class=_names_class(data),
        control=given.get(CONTROL),
        class_row=given.get(ROW_OF_ITEM),
        orders=Orders(swapped, *data.exchange) if swapped is not None else None,
    )


def _names_class(data: AnnotationData) -> np.ndarray:
    return np.equal.outer(data.class_codes, np.arange(data.n_labels))


# --------------------------------------------------------------------------------------------------------- in a fit


def known_of(data: AnnotationData, field: str) -> list[str]:
    """Return the gold label, or the control, of each item; "" without one."""
    return [getattr(data, field).get(item, "") for item in data.items]


def store_tables(
    parts: list[AnnotationData], variables: Mapping[str, Any], coords: Mapping[str, list[str]]
) -> dict[str, xr.Dataset]:
    """Return the annotations of one or several dimensions, concatenated, with the other data of items."""
    long = {name: np.concatenate([getattr(one, name) for one in parts]) for name in ("item", "annotator", "label")}
    constant = {f"annotation_{name}": ("annotation", long[name]) for name in ("item", "annotator")}
    names = {"item": list(parts[0].items), "annotator": list(parts[0].annotators)}
    return {
        "observed_data": xr.Dataset({"annotations": ("annotation", long["label"])}),
        "constant_data": xr.Dataset({**constant, **variables}, coords={**names, **coords}),
    }


def read_table(
    observed: xr.Dataset, constant: xr.Dataset, labels: tuple[str, ...], unsure: tuple[str, ...] = ()
) -> AnnotationData:
    """Return one table of annotations from groups that contain only this table."""
    items = read_names(constant, "item")
    known: dict[str, Any] = {}
    for name, field in KNOWN.items():
        pairs = zip(items, map(str, constant[name].values), strict=True)
        known[field] = {item: label for item, label in pairs if label}
    return AnnotationData(
        item=constant["annotation_item"].values,
        annotator=constant["annotation_annotator"].values,
        label=observed["annotations"].values,
        items=items,
        annotators=read_names(constant, "annotator"),
        labels=labels,
        unsure=unsure,
        order_declared=is_in_order(constant),
        **known,
    )


def is_in_order(constant: xr.Dataset) -> bool:
    """Whether an order of the labels was declared."""
    return IN_ORDER in constant and bool(constant[IN_ORDER])


def read_names(dataset: xr.Dataset, dim: str) -> tuple[str, ...]:
    """Return the names along a dimension."""
    return tuple(str(name) for name in dataset[dim].values)


def store_columns(data: Any, of: str) -> xr.Dataset:
    """Return a variable for each column of items or annotators, named by number, since names may be arbitrary."""
    group = xr.Dataset(coords={of: list(getattr(data, f"{of}s"))})
    for at, (name, one) in enumerate(getattr(data, COLUMNS[of]).items()):
        about = {"name": name, "levels": json.dumps(one.levels), "mean": one.mean, "sd": one.sd}
        group[f"column_{at}"] = (of, one.values, about)
    return group


def read_columns(group: xr.Dataset) -> dict[str, Column]:
    """Return the columns of items, or of annotators, that `store_columns` has stored."""
    columns = {}
    for one in group.data_vars.values():
        levels, mean, sd = tuple(json.loads(one.attrs["levels"])), float(one.attrs["mean"]), float(one.attrs["sd"])
        columns[one.attrs["name"]] = Column(freeze(one.values.copy()), levels, mean, sd)
    return columns


def _recode_table(known: AnnotationData, new: AnnotationData, takes_new_annotators: bool) -> AnnotationData:
    codes, annotators = {}, known.annotators
    if takes_new_annotators:
        annotators += tuple(name for name in new.annotators if name not in set(known.annotators))
    for what, names in (("annotator", annotators), ("label", known.labels)):
        codes[what] = recode_names(what, names, getattr(new, f"{what}s"))[getattr(new, what)]
    same = {name: getattr(known, name) for name in ("labels", "unsure", "order_declared")}
    columns = dict(new.item_columns)
    for name in columns.keys() & known.item_columns.keys():
        columns[name] = columns[name].recode(known.item_columns[name], name)
    columns_of = extend_columns(known.annotator_columns, known.n_annotators, len(annotators))
    return replace(new, **codes, annotators=annotators, item_columns=columns, annotator_columns=columns_of, **same)


def recode_names(what: str, known: Sequence[str], new: Sequence[str]) -> np.ndarray:
    """Return the code that each new name has among those of a fit, or raise a DataError."""
    code_of = {name: code for code, name in enumerate(known)}
    unknown = [name for name in new if name not in code_of]
    if unknown:
        raise DataError(
            f"{what} {unknown[0]!r} is not among the {len(known)} {what}s of this fit: "
            "leave those answers out, or fit again with them"
        )
    return np.array([code_of[name] for name in new])


def tabulate_posterior(
    items: Any,
    states: Sequence[str],
    probability: np.ndarray,
    n_annotations: np.ndarray,
    votes: np.ndarray | None,
    *,
    name: str = "label",
    model: np.ndarray | None = None,
    vote: np.ndarray | None = None,
) -> pd.DataFrame:
    """Return the first columns of a table of labels, from posteriors (item, state), and votes (item, label) if any.

    `model` are the model's own posteriors (item, state), if the others are adjusted or recalibrated; `vote` has the
    label with the most votes (item,), if there are votes.
    """
    best, entropy = probability.argmax(axis=1), measure_entropy(probability)
    table = pd.DataFrame(
        {
            "item": pd.Series(items, dtype="str"),
            name: pd.Series([states[state] for state in best], dtype="str"),
            "probability": probability.max(axis=1),
            "entropy": entropy,
            "n_annotations": n_annotations,
        }
    )
    for code, state in enumerate(states):
        table[f"p[{state}]"] = probability[:, code]
    if model is not None:
        table["model_probability"] = model[np.arange(len(model)), best]
        table[[f"model_p[{state}]" for state in states]] = model
    if votes is not None:
        table["weight"] = (1 - entropy / np.log(max(len(states), 2))).clip(0, 1)
        said = votes[:, : len(states)]  # without unsure answers
        table["agreement"] = divide(said[np.arange(len(said)), best], said.sum(axis=1))
        table["vote"] = pd.Series(vote, dtype="str")
    return table


# ---------------------------------------------------------------------------------------------- what a design lacks


def _find_in_table(data: AnnotationData) -> list[Finding]:
    if data.annotators == (ANYONE,):
        return [find("annotators-unnamed")]
    return [*find_in_repeats(data), *_find_in_comparisons(data)]


def _find_in_comparisons(data: AnnotationData) -> list[Finding]:
    """Return why annotators cannot be compared with each other."""
    of_control = data.annotator[data.control_codes[data.item] >= 0]
    if np.isin(np.flatnonzero(data.by_annotator), of_control).all():
        return []  # each annotator is compared with known labels
    return find_in_links(link_annotators(data.item, data.annotator, data.n_items, data.n_annotators), data)


def find_in_repeats(data: AnnotationData) -> Iterator[Finding]:
    """Yield which annotators with several answers to an item agree with themselves no more, or less, than by chance."""
    own = pd.DataFrame(agree_with_self(data), index=list(data.annotators))
    own = own[(own["n_repeats"] >= ENOUGH_REPEATS) & own["self_alpha"].notna()]
    less = own[own["self_alpha"] <= threshold_of("orders-not-turned")]
    if len(less) and not data.has_both_orders:
        n, same = less["n_repeats"].sum(), np.average(less["self_agreement"], weights=less["n_repeats"])
        yield find("orders-not-turned", less.index, less["self_alpha"].max(), same=same, n=f"{n:,}")
    error = 2 * np.sqrt(own["self_agreement"] * (1 - own["self_agreement"]) / own["n_repeats"])
    most = own["self_alpha"] + error * (1 - own["self_alpha"]) / (1 - own["self_agreement"])  # at p + 2 standard errors
    for name in own.index[(own["self_agreement"] < 1) & ~own.index.isin(less.index)]:
        words = {"same": own.loc[name, "self_agreement"], "n": own.loc[name, "n_repeats"]}
        yield from check("contradicts-itself", most[name], [name], **words)


# ------------------------------------------------------------------------------------------------------- simulation


def _name_gold(design: AnnotationData, states: Sequence[str], state: np.ndarray) -> dict[str, str]:
    """Return the names of true labels by item; items in other states (nobody gave the true label) are left out."""
    named = zip(design.items, (states[code] for code in state), strict=True)
    return {item: label for item, label in named if label in design.labels}


# ---------------------------------------------------------------------------------------------------------- reading


def read_by_options(source: Any, options: Any) -> AnnotationData:
    """Return the annotations in a source, by the options of the command line."""
    from bayesanno.io.read import data_of_source

    data = data_of_source(source, options.reading, **options.known)
    return data.without_unsure() if options.get("drop_unsure") else data


def last_of_two(data: AnnotationData) -> str:
    """Return the last of two labels, the positive one; raise a DataError if there are more."""
    if data.n_classes > 2:
        raise DataError(
            f"there are {data.n_classes} labels, {listed(data.classes)}: say with --positive which of them to count"
        )
    return data.classes[-1]


# -------------------------------------------------------------------------------------------- statistics of answers


def most_votes(data: AnnotationData) -> int:
    """Return the largest number of answers to an item."""
    return int(np.bincount(data.item, minlength=1).max())


def _find_counted_labels(data: AnnotationData) -> list[int]:
    """Return the labels with counts that are not redundant: of two labels, only the last."""
    return list(range(data.n_labels)) if data.n_labels > 2 else [1]


def _count_votes(data: AnnotationData, label: np.ndarray) -> np.ndarray:
    """Return the number of annotations by item and label, (item, label)."""
    return count_cells(data.item, label, (data.n_items, data.n_labels))


def votes_per_item(data: AnnotationData) -> Statistic:
    """Count the items with 0, 1, 2, ... votes for each label; of two labels, only the last."""
    labels, most = _find_counted_labels(data), most_votes(data)

    def measure(label: np.ndarray) -> np.ndarray:
        votes = _count_votes(data, label)
        return np.concatenate([np.bincount(votes[:, code], minlength=most + 1) for code in labels])

    return Statistic(tuple(f"{n} x {data.labels[code]}" for code in labels for n in range(most + 1)), measure)


def unanimous(data: AnnotationData) -> Statistic:
    """Measure the share of items on which all agree, among those with two or more annotations."""
    several = shared_items(data.votes)
    return Statistic(("",), lambda label: 1 - disagreed_items(_count_votes(data, label)[several]).mean(keepdims=True))


def label_counts(data: AnnotationData) -> Statistic:
    """Count how often each annotator gives each label; of two labels, only the last."""
    labels, shape = _find_counted_labels(data), (data.n_annotators, data.n_labels)
    of = tuple(f"{who}: {data.labels[code]}" for who in data.annotators for code in labels)
    return Statistic(of, lambda label: count_cells(data.annotator, label, shape)[:, labels].ravel())


class Matched(NamedTuple):
    """Pairs of viewers, and all pairs of answers by them to the same item, not both by the same annotator.

    Attributes
    ----------
    who : array of int, shape (pair, 2)
    n : array of int, shape (pair,)
        The number of pairs of answers.
    left, right : array of int, shape (match,)
        Positions among the annotations.
    pair : array of int, shape (match,)
    """

    who: np.ndarray
    n: np.ndarray
    left: np.ndarray
    right: np.ndarray
    pair: np.ndarray

    def count_same(self, label: np.ndarray) -> np.ndarray:
        """Return how often the two annotators give the same answer, (pair,)."""
        return np.bincount(self.pair, weights=label[self.left] == label[self.right], minlength=self.n.size)


def match_pairs(data: AnnotationData, items: np.ndarray | None = None) -> Matched:
    """Match the answers of the pairs that share most, to all items or to those in a mask (item,)."""
    left, right = match_answers(data.item, data.annotator)
    if items is not None:
        kept = items[data.item[left]]
        left, right = left[kept], right[kept]
    codes = data.viewer[left] * data.n_viewers + data.viewer[right]
    code, pair, n = np.unique(codes, return_inverse=True, return_counts=True)
    most = np.sort(np.argsort(-n, kind="stable")[:MOST_PAIRS])
    place = np.full(n.size, -1)
    place[most] = np.arange(most.size)
    kept = place[pair] >= 0
    who = np.stack(np.divmod(code[most], data.n_viewers), axis=1)
    return Matched(who, n[most], left[kept], right[kept], place[pair[kept]])


def _number_own(data: AnnotationData) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each combination of annotator and item, which may have several answers.

    Returns
    -------
    own : array of int, shape (annotation,)
        The number of each answer's annotator and item.
    others : array of int, shape (annotation,)
        How many answers other annotators gave to its item.

    Raises
    ------
    DataError
        If no two annotators answered the same item (two answers by one annotator do not count).
    """
    shared_items(data.votes)
    codes = data.item * data.n_annotators + data.annotator
    _, own, times = np.unique(codes, return_inverse=True, return_counts=True)
    others = np.bincount(data.item, minlength=data.n_items)[data.item] - times[own]
    if not others.any():
        raise DataError("no item has answers of two annotators: agreement is between at least two")
    return own, others


def pair_agreement(data: AnnotationData) -> Statistic:
    """Measure how often two annotators agree on the items that both answered, for the pairs that share most answers."""
    _number_own(data)
    matched = match_pairs(data)
    names = [" & ".join(map(data.name_viewer, two)) for two in matched.who]
    return Statistic(tuple(names), lambda label: matched.count_same(label) / matched.n)


def rest_agreement(data: AnnotationData) -> Statistic:
    """Measure how often others' answers to the same items agree with each annotator's."""
    own, others = _number_own(data)
    matches = np.bincount(data.annotator, weights=others, minlength=data.n_annotators)
    some, shape = np.flatnonzero(matches), (int(own.max()) + 1, data.n_labels)

    def measure(label: np.ndarray) -> np.ndarray:
        all_same = _count_votes(data, label)[data.item, label]
        own_same = count_cells(own, label, shape)[own, label]
        agreed = np.bincount(data.annotator, weights=all_same - own_same, minlength=data.n_annotators)
        return agreed[some] / matches[some]

    return Statistic(tuple(data.annotators[code] for code in some), measure)


OF_ANNOTATIONS = {
    "votes_per_item": votes_per_item,
    "unanimous": unanimous,
    "label_counts": label_counts,
    "pair_agreement": pair_agreement,
    "rest_agreement": rest_agreement,
}
