"""From options to a model with its class prior, and to data, or a design to simulate, of the kind that it takes.

The invariant: an option that the model cannot use is refused, not ignored.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bayesanno as ba
from bayesanno._core.lazy import xr
from bayesanno._core.messages import counted, listed
from bayesanno.cli.options import DataOptions, parse_label_names, split_names
from bayesanno.data.frame import WEIGHT
from bayesanno.fits.view import view_of
from bayesanno.inference.diagnosis.findings import WRONG, read_findings
from bayesanno.io.beside import OF_FILES
from bayesanno.io.counts import holds_counts
from bayesanno.io.datasets import options_of
from bayesanno.io.read import SHAPES, data_of_source
from bayesanno.io.sources import open_source
from bayesanno.modeling.class_prior import Term
from bayesanno.modeling.findings import warn_of
from bayesanno.modeling.registry import list_model_classes, model_class

FIELD = "class_prior"


def read_for(model: ba.AnnotationModel, source: Any, options: DataOptions) -> tuple[Any, str]:
    """Read the data that a model takes, and describe them in one line.

    A model of counts takes a table of counts (see `read_counts`), or annotations: one label is counted, and unsure
    answers are left out. A model of two labels gets one label against all others.

    Parameters
    ----------
    model : AnnotationModel
    source : str or list of str
        A file or a named data set, or several files.
    options : DataOptions
        `label` has one column for each dimension; `positive` is by default the last of two labels.

    Raises
    ------
    DataFileError, DataError
        As for the readers; if an option does not suit the model; or if there are more than two labels and none of them
        is said to be the positive one.
    """
    kind = _KINDS[model.data_class]
    options.refuse(kind.refused, f"{model.name} reads {kind.reads}")
    return kind.read(model, source, options)


def run_fit(model: ba.AnnotationModel, data: Any, *, adjust: bool, **how: Any) -> xr.DataTree:
    """Fit a model as `fit` does, and adjust its labels if asked; then warnings are of the adjusted labels."""
    of_labels = ("labels-overconfident", *WRONG) if adjust else ()
    with warnings.catch_warnings():
        for code in of_labels:
            warnings.filterwarnings("ignore", f"{code}:", ba.MisfitWarning)
        fitted = ba.fit(model, data, progressbar=sys.stderr.isatty(), **how)
        fitted = ba.adjust(fitted) if adjust else fitted
    warn_of(one for one in read_findings(view_of(fitted)) if one.code in of_labels)
    return fitted


def read_data(source: Any, options: DataOptions) -> ba.AnnotationData:
    """Return the annotations in a source, by the options of the command line."""
    data = data_of_source(source, options.reading, **options.known)
    return data.without_unsure() if options.get("drop_unsure") else data


def _read_annotations(model: ba.AnnotationModel, source: Any, options: DataOptions) -> tuple[ba.AnnotationData, str]:
    if not model.two_labels:
        options.refuse(("positive",), f"{model.name} takes every label as it is")
    require_one_column(model, options)
    data = read_data(source, options)
    if "controls" not in options and not model.takes_controls:
        data = replace(data, controls={})  # those that an export comes with
    added = ""
    if "add" in options:
        n_before = data.n_annotations
        named = {name: value for name, value in options.items() if name in (*OF_FILES, "annotator", "label")}
        data = ba.add_annotations(data, options["add"], **named)
        added = f"; {data.n_annotations - n_before:,} of the annotations are from {options['add']}"
    if model.two_labels:
        data = data.binarise(positive=options.get("positive", None) or _last_of_two(data))
    return data, data.describe() + added


def _read_counts(model: ba.AnnotationModel, source: Any, options: DataOptions) -> tuple[ba.CountData, str]:
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
        named = {name: options[name] for name in ("item", "successes", "trials", "count", *opening) if name in options}
        data = ba.read_counts(source, **named)
        return data, data.describe()
    annotations = read_data(source, options)
    what = repr(positive)
    if positive is None:
        positive = _last_of_two(annotations)
        what = f"{positive!r} (taken as positive; --positive takes another)"
    data = ba.CountData.from_annotations(annotations, positive=positive)
    n_unsure = int(annotations.unsure_by_annotator.sum())
    left_out = f"; {counted(n_unsure, 'unsure answer')} left out" if n_unsure else ""
    return data, data.describe(positive=what) + left_out


def _read_dimensions(
    model: ba.AnnotationModel, source: Any, options: DataOptions
) -> tuple[ba.MultiAnnotationData, str]:
    if options.get("format") in SHAPES:
        options.refuse(("format",), f"{model.name} reads a long table or an export")
    reading = {name: value for name, value in options.reading.items() if name != "label"}
    data = ba.read_multi_annotations(source, options.label, labels=options.labels_by_dimension, **reading)
    return data, data.describe()


def require_one_column(model: ba.AnnotationModel, options: DataOptions) -> None:
    """Raise a DataError if there are several label columns."""
    if len(options.label) > 1:
        raise ba.DataError(
            f"{model.name} reads one label column, not {len(options.label)}: name one, or use model_a_multi"
        )


def _last_of_two(data: ba.AnnotationData) -> str:
    if data.n_classes > 2:
        raise ba.DataError(
            f"there are {data.n_classes} labels, {listed(data.classes)}: say with --positive which of them to count"
        )
    return data.classes[-1]


def design_for(model: ba.AnnotationModel, *, unsure: Sequence[str], **asked: Any) -> Any:
    """Return a design of the kind of data that a model takes, for it to simulate answers to.

    Parameters
    ----------
    model : AnnotationModel
    unsure : sequence of str
        Names of further labels, which are no class.
    **asked
        `labels`: the number of labels, or their names, "A,B,..."; `dimensions`: the names of the dimensions, "A,B,...";
        and items, annotators, per_item and random_seed as for `make_design`.

    Raises
    ------
    DataError
        As for `make_design`; if a dimension is named twice, or the model takes no answers that are no class.
    """
    if unsure and not model.takes_other_labels:
        raise ba.DataError(f"{model.name} cannot simulate answers that are no class: leave out --unsure")
    return _KINDS[model.data_class].design(unsure=unsure, **asked)


def _design_annotations(*, labels: str, dimensions: str, **asked: Any) -> ba.AnnotationData:  # noqa: ARG001 -- of one
    from bayesanno.simulation.simulate import make_design

    return make_design(labels=parse_label_names(labels), **asked)


def _design_counts(*, items: int, per_item: int | tuple[int, int], random_seed: int, **_: Any) -> ba.CountData:
    from bayesanno.simulation.simulate import make_count_design

    return make_count_design(items=items, per_item=per_item, random_seed=random_seed)


def _design_dimensions(*, dimensions: str, **asked: Any) -> ba.MultiAnnotationData:
    shared, names = _design_annotations(dimensions=dimensions, **asked), split_names(dimensions)
    if len(set(names)) < len(names):
        raise ba.DataError(f"a dimension is named twice among {listed(names)}")
    return ba.MultiAnnotationData(by_dimension=dict.fromkeys(names, shared))


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """How a kind of data is read and designed, and the options that it does not take."""

    read: Callable[[ba.AnnotationModel, Any, DataOptions], tuple[Any, str]]
    design: Callable[..., Any]
    reads: str
    refused: tuple[str, ...]


_OF_COUNTS = ("successes", "trials")
_OF_ANSWERS = ("annotator", "label", "labels", "unsure", "missing", "strip", "ignore_case", "same")
_OF_TABLES = ("format", "columns", "transpose")
_OF_COMPARISONS = ("pairs", "first", "second", "tie", "order", "baseline", "by", "ranking", "ranks", "best_worst")
_OF_ITEMS = ("gold", "gold_file", "controls", "add", "items", "annotators", *_OF_COMPARISONS)

_KINDS: Mapping[type, _Kind] = {
    ba.AnnotationData: _Kind(
        read=_read_annotations, design=_design_annotations, reads="annotations of one label column", refused=_OF_COUNTS
    ),
    ba.CountData: _Kind(
        read=_read_counts, design=_design_counts, reads="counts, without true labels or items", refused=_OF_ITEMS
    ),
    ba.MultiAnnotationData: _Kind(
        read=_read_dimensions,
        design=_design_dimensions,
        reads="a label column for each dimension, of which no answer may be unsure",
        refused=(*_OF_COUNTS, *_OF_ITEMS, "positive", "columns", "count", "transpose", "unsure"),
    ),
}


def choose_model(
    name: str,
    fields: Mapping[str, Any],
    source: Any,
    options: DataOptions,
) -> ba.AnnotationModel:
    """Return a model with some fields, and the class prior that --class-prior, --classifier and --pairs ask for.

    Comparisons are fitted with strengths of systems, if the model can, unless `fields` say class_prior=learnt; a named
    data set may have comparisons.

    Parameters
    ----------
    name : str
    fields : mapping of field to text
    source : str
        The data.
    options : DataOptions

    Raises
    ------
    ModelError
        If the model or a field is unknown, a value is out of its range, a formula cannot be read, the class prior is
        given twice, or the model has none.
    """
    formula, classifier = options.get("class_prior"), options.get("classifier")
    given = {"--class-prior": formula, "--classifier": classifier, "--pairs": options.sides or None}
    asked = [option for option, value in given.items() if value is not None]
    can = FIELD in model_class(name).default_fields()
    if asked and not can:
        able = [each for each, found in list_model_classes().items() if FIELD in found.default_fields()]
        raise ba.ModelError(
            f"{name} has no class prior, which {asked[0]} needs: models that have are {', '.join(able)}"
        )
    pairs = options.sides or options_of(source).get("pairs", ())
    if FIELD in fields:
        if asked and (asked != ["--pairs"] or fields[FIELD] != "learnt"):
            raise ba.ModelError(
                f"the class prior of {name} is given twice, by {FIELD}={fields[FIELD]} and by {asked[0]}: leave "
                "one of them out"
            )
        return ba.get_model(name, fields)
    weight = WEIGHT if options.keys() & {"ranking", "ranks", "best_worst"} else ""
    terms: list[Term] = (
        [ba.Pairs(first=pairs[0], second=pairs[1], weight=weight, by=options.get("by", ""))] if pairs and can else []
    )
    terms += [ba.Columns(formula)] if formula is not None else []
    terms += [ba.Classifier(columns_of=classifier)] if classifier is not None else []
    return ba.get_model(name, {**fields, **({FIELD: ba.modeling.ClassPrior(tuple(terms))} if terms else {})})
