"""From options to a model with its class prior, and to data, or a design to simulate, of the kind that it takes.

The invariant: an option that the model cannot use is refused, not ignored.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import bayesanno as ba
from bayesanno._core.lazy import xr
from bayesanno.cli.options import DataOptions, parse_label_names, split_names
from bayesanno.io.datasets import options_of
from bayesanno.modeling.class_prior import Term
from bayesanno.modeling.kinds import kind_of, refused_by
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
    kind = kind_of(model)
    options.refuse(refused_by(kind), f"{model.name} reads {kind.reads}")
    return kind.read(model, source, options)


def run_fit(model: ba.AnnotationModel, data: Any, *, adjust: bool, **how: Any) -> xr.DataTree:
    """Fit a model as `fit` does, and adjust its labels if asked."""
    fitted = ba.fit(model, data, progressbar=sys.stderr.isatty(), **how)
    return ba.adjust(fitted) if adjust else fitted


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
    asked |= {"labels": parse_label_names(asked["labels"]), "dimensions": split_names(asked["dimensions"])}
    return kind_of(model).make_design(unsure=unsure, **asked)


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
    if "judges_err" in options and (FIELD in fields or not (pairs and can)):
        raise ba.ModelError("--judges-err is about the strengths of systems, which this fit has not: leave it out")
    if FIELD in fields:
        if asked and (asked != ["--pairs"] or fields[FIELD] != "learnt"):
            raise ba.ModelError(
                f"the class prior of {name} is given twice, by {FIELD}={fields[FIELD]} and by {asked[0]}: leave "
                "one of them out"
            )
        return ba.get_model(name, fields)
    terms: list[Term] = []
    if pairs and can:
        of = {name: options[name] for name in ("by", "judges_err") if name in options}
        terms = [ba.Pairs(first=pairs[0], second=pairs[1], **of)]
    terms += [ba.Columns(formula)] if formula is not None else []
    terms += [ba.Classifier(columns_of=classifier)] if classifier is not None else []
    return ba.get_model(name, {**fields, **({FIELD: ba.modeling.ClassPrior(tuple(terms))} if terms else {})})
