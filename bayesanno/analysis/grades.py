"""Grades: ordered labels, with distances between them.

The invariant: labels have grades only if their order is known, because it was declared or the labels are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayesanno._core.intervals import choose_prob, name_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, as_names, enumerated, listed, nearest, option, spell
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import read_numbers
from bayesanno.fits.view import FitPart, FitView, concat_parts, part_of, parts_of
from bayesanno.modeling.arguments import data_of_latent, require_latents
from bayesanno.modeling.base import AnnotationModel

LOSSES = {"absolute": 1, "squared": 2}  # the power of the distance of two grades
ROUNDED = 1e-9  # rounding error allowed in a sum of probabilities


class Graded(NamedTuple):
    """The posterior of items' grades, from the lowest to the highest.

    Attributes
    ----------
    labels : tuple of str
    grades : array, shape (label,)
        The grade of each label, increasing.
    probability : array, shape (item, label)
    """

    labels: tuple[str, ...]
    grades: np.ndarray
    probability: np.ndarray

    @property
    def at_most(self) -> np.ndarray:
        """P(the true grade is at most that of a label); shape (item, label)."""
        return self.probability.cumsum(axis=1)


def grade_table(
    fit: xr.DataTree | FitView,
    *,
    order: str | Sequence[str] | None = None,
    dimension: str | None = None,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Return the posterior of each item's grade, for ordered labels.

    If all labels are numbers in increasing or decreasing order, a label's grade is its number. Otherwise it is the
    label's position, with 1 for the lowest. The columns include the whole uncertainty of the true grade: that of the
    parameters, and that of the label given the parameters.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of any model that gives labels.
    order : str or sequence of str, optional
        The labels from the lowest to the highest. The default is the order declared when the data were read, or that
        of the numbers.
    dimension : str, optional
        The dimension, for data with several dimensions; all by default.
    ci_prob : float, optional
        The least probability of the range of grades; by default as in `summary`.

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`; `median`, the median label; `grade_mean`, the expected grade;
        `grade_sd`; `grade_eti89_lb` and `grade_eti89_ub`, the range of grades with that probability or
        more: at most half of the rest is below it, and above it;
        `p_below` and `p_above`, the probability that the true grade is below or above the median label;
        `n_annotations`, `label` (the most probable one), `probability` (of that label), and `gold` if any is known. For
        data with several dimensions, one row per dimension and item; `dimension` is the first column.

    Raises
    ------
    DataError
        If the order of the labels is unknown, or `order` does not name each label once.
    FitError
        If the model gives no labels, or the dimension is not in the fit.

    Examples
    --------
    >>> import bayesanno as ba
    >>> design = ba.make_design(items=80, annotators=6, labels=["poor", "fair", "good"], per_item=3, random_seed=1)
    >>> data, _ = ba.simulate("one_coin", design, random_seed=1)
    >>> fit = ba.fit("one_coin", data, method="em", random_seed=1, check=False, progressbar=False)
    >>> table = ba.grade_table(fit)
    >>> sorted(table["median"].unique()), bool(table["grade_mean"].between(1, 3).all())
    (['fair', 'good', 'poor'], True)
    """
    view = view_for_table(fit)
    parts = parts_of(view) if dimension is None else [part_of(view, dimension)]
    if order is not None and len(parts) > 1:
        names = enumerated([part.dimension for part in parts])
        raise FitError(f"order applies to one dimension, and this fit has {names}: name one ({option('dimension')})")
    if dimension is not None:
        return _tabulate(view, parts[0], order, ci_prob)
    return concat_parts(parts, lambda part: _tabulate(view, part, order, ci_prob))


def _tabulate(view: FitView, part: FitPart, order: str | Sequence[str] | None, ci_prob: float | None) -> pd.DataFrame:
    labels, grades, probability = graded = grade_items(view, part, order)
    median = (graded.at_most >= 0.5 - ROUNDED).argmax(axis=1)  # (item,)
    place = np.arange(grades.size) - median[:, None]  # (item, label), 0 at the median
    mean = probability @ grades
    ci_prob = choose_prob(ci_prob)
    tails = ((1 - ci_prob) / 2, (1 + ci_prob) / 2)
    low, high = ((graded.at_most >= tail - ROUNDED).argmax(axis=1) for tail in tails)  # (item,)
    lower, upper = name_bounds("eti", ci_prob, "grade")
    table = pd.DataFrame(
        {
            "item": pd.Series(list(part.data.items), dtype="str"),
            "median": pd.Series([labels[code] for code in median], dtype="str"),
            "grade_mean": mean,
            "grade_sd": np.sqrt((probability * (grades - mean[:, None]) ** 2).sum(axis=1)),
            lower: grades[low],
            upper: grades[high],
            "p_below": (probability * (place < 0)).sum(axis=1),
            "p_above": (probability * (place > 0)).sum(axis=1),
        }
    )
    known = part.tabulate()
    rest = [name for name in ("n_annotations", "label", "probability", "gold") if name in known]
    table[rest] = known[rest]
    return table


def grade_items(view: FitView, part: FitPart, order: Sequence[str] | None = None) -> Graded:
    """Return the posterior of the grades of the items in a part.

    Raises
    ------
    FitError, DataError
        As for `grade_table`.
    """
    require_latents(view.model, view.data, "labels", "grade_table")
    if set(part.states) != set(part.data.classes):
        raise FitError(f"{view.model.name} gives no labels, and so no grades")
    names = order_classes(part.data, order, part.dimension)
    grades = find_grades(names)
    rising = np.argsort(grades)
    labels = tuple(names[code] for code in rising)
    at = [part.states.index(label) for label in labels]
    return Graded(labels, grades[rising], part.posterior.values[:, at])


def order_classes(data: AnnotationData, order: Sequence[str] | None = None, dimension: str = "") -> tuple[str, ...]:
    """Return the classes of the data from the lowest to the highest.

    Raises
    ------
    DataError
        As for `grade_table`.
    """
    of = f" of dimension {dimension!r}" if dimension else ""
    if order is not None:
        names = as_names(order)
        odd = next((name for name in names if name not in data.classes), None)
        if odd is not None:
            raise DataError(
                f"order: {odd!r} is not among the labels {listed(data.classes)}{nearest(odd, data.classes)}"
            )
        if sorted(names) != sorted(data.classes):
            wrong = next(name for name in data.classes if names.count(name) != 1)
            raise DataError(f"order must name each label once ({enumerated(data.classes)}): see {wrong!r}")
        return names
    if not data.labels_are_ordered:
        raise DataError(
            f"the order of the labels{of} {listed(data.classes)} is not known: "
            "give it, lowest first, with "
            f"{spell('labels=[...] when reading the data, or with order=[...]', '--labels A,B,... of `bayesanno fit`')}"
        )
    return data.classes


def find_grades(labels: Sequence[str]) -> np.ndarray:
    """Return the grades of ordered labels, (label,): the labels as increasing or decreasing numbers, else 1, 2, ...

    Examples
    --------
    >>> from bayesanno.analysis.grades import find_grades
    >>> find_grades(["0", "1", "5"]), find_grades(["no", "maybe", "yes"])
    (array([0., 1., 5.]), array([1., 2., 3.]))
    """
    numbers = read_numbers(labels)
    if numbers is not None:
        steps = np.diff(numbers)
        if (steps > 0).all() or (steps < 0).all():
            return numbers
    return np.arange(1.0, len(labels) + 1)


def find_loss(view: FitView, part: FitPart, loss: str, order: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the cost of each decision by the distance of its grade from the true one; rows are true labels.

    Raises
    ------
    FitError, DataError
        As for `grade_table`; also if the loss is unknown.
    """
    if loss not in LOSSES:
        raise DataError(
            f"there is no loss {loss!r}: choose one of {listed(list(LOSSES))}, or give a cost matrix"
            f"{nearest(loss, LOSSES)}"
        )
    labels, grades, _ = grade_items(view, part, order)
    far = np.abs(grades[:, None] - grades) ** LOSSES[loss]
    return pd.DataFrame(far, index=list(labels), columns=list(labels))


def check_grades(model: AnnotationModel, data: object) -> None:
    """Raise an error, before fitting, if a fit of these data would have no table of grades.

    Raises
    ------
    FitError
        If the model gives no labels.
    DataError
        If the order of the labels is unknown.
    """
    require_latents(model, data, "labels", "grade_table")
    for latent in model.latents(data):
        order_classes(data_of_latent(data, latent), dimension=latent.name)
