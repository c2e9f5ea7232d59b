"""From options to a model: its fields, and the class prior that options of items ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesanno.cli.options import DataOptions
from bayesanno.ground.errors import ModelError
from bayesanno.io.datasets import options_of
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.class_prior import ClassPrior, Term
from bayesanno.modeling.columns import Classifier, Columns
from bayesanno.modeling.pairs import Pairs
from bayesanno.modeling.registry import get_model, list_model_classes, model_class

FIELD = "class_prior"


def choose_model(
    name: str,
    fields: Mapping[str, Any],
    source: str,
    options: DataOptions,
    formula: str | None = None,
    classifier: str | None = None,
) -> AnnotationModel:
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
    formula, classifier : str, optional
        The columns of items that the class depends on, and the name of a classifier's columns.

    Raises
    ------
    ModelError
        If the model or a field is unknown, a value is out of its range, a formula cannot be read, the class prior is
        given twice, or the model has none.
    """
    given = {"--class-prior": formula, "--classifier": classifier, "--pairs": options.pairs or None}
    asked = [option for option, value in given.items() if value is not None]
    can = FIELD in model_class(name).default_fields()
    if asked and not can:
        able = [each for each, found in list_model_classes().items() if FIELD in found.default_fields()]
        raise ModelError(f"{name} has no class prior, which {asked[0]} needs: models that have are {', '.join(able)}")
    pairs = options.pairs or options_of(source).get("pairs", ())
    if FIELD in fields:
        if asked and (asked != ["--pairs"] or fields[FIELD] != "learnt"):
            raise ModelError(
                f"the class prior of {name} is given twice, by {FIELD}={fields[FIELD]} and by {asked[0]}: leave "
                "one of them out"
            )
        return get_model(name, fields)
    terms: list[Term] = [Pairs(first=pairs[0], second=pairs[1])] if pairs and can else []
    terms += [Columns(formula)] if formula is not None else []
    terms += [Classifier(columns_of=classifier)] if classifier is not None else []
    return get_model(name, {**fields, **({FIELD: ClassPrior(tuple(terms))} if terms else {})})
