"""Every model on small data of every shape: its tables are probabilities and numbers, or data are refused in a line.

What has EM and VB is fitted by them; of all else draws are of the prior, or of ADVI if slow tests are asked for. That
the density of every model is compiled is in `tests/graph/test_flat.py`.
"""

import warnings

import numpy as np
import pytest

import bayesanno as ba
from bayesanno._core.messages import BayesannoError
from bayesanno.modeling.independent import ConjugateModel
from bayesanno.modeling.registry import list_model_classes
from tests.analysis.made import from_prior
from tests.samples import tiny_data

pytestmark = pytest.mark.usefixtures("by_numpy")  # of few draws

YES_NO = ("no", "yes")
MANY = tuple(f"l{number:02}" for number in range(60))
FEW = {"draws": 10, "chains": 2, "random_seed": 1, "check": False, "progressbar": False}


def said(*rows, **declared):
    return ba.AnnotationData.from_records([row.split() for row in rows], **declared)


SHAPES = {
    "one answer": said("s1 ada no", labels=YES_NO),
    "one item": said("s1 ada no", "s1 bo yes", "s1 cy no"),
    "one annotator": said("s1 ada no", "s2 ada yes", "s3 ada no"),
    "all equal": said("s1 ada no", "s1 bo no", "s2 ada no", "s2 bo no", labels=YES_NO),
    "an unused label": tiny_data(labels=("no", "perhaps", "yes")),
    "60 labels": said(*(f"s{i} {who} l{i * step % 60:02}" for i in range(61) for who, step in [("ada", 1), ("bo", 7)])),
    "60 labels of which one is used": said("s1 ada l00", "s1 bo l00", labels=MANY),
    "an item without answers": tiny_data(items=[f"s{number}" for number in range(1, 8)]),
    "an annotator with one answer": said("s1 ada no", "s1 bo no", "s2 ada yes", "s2 bo no", "s2 cy yes"),
    "two annotators": said("s1 ada no", "s1 bo no", "s2 ada yes", "s2 bo no", "s3 ada yes", "s3 bo yes"),
    "an answer each": said("s1 ada no", "s2 bo yes", "s3 cy no"),
    "the same answer many times": said(*["s1 ada no"] * 200, "s1 bo yes", "s2 ada yes"),
}  # fmt: skip
COUNTS = {
    "one answer": ([1], [1]),
    "one item": ([2], [5]),
    "nothing positive": ([0, 0, 0], [4, 4, 4]),
    "all positive": ([4, 4, 4], [4, 4, 4]),
    "an item without answers": ([1, 0, 3], [4, 0, 4]),
    "other numbers of answers": ([1, 9, 0], [1, 10, 3]),
    "an item of many answers": ([3, 500_000], [4, 1_000_000]),
}

RATINGS = {  # item, annotator, names of items, value
    "one answer": ([0], [0], "x", [40.0]),
    "an item without answers": ([0, 0, 1], [0, 1, 0], "xyz", [10.0, 30.0, 99.0]),
    "all at an end": ([0, 0, 1, 1], [0, 1, 0, 1], "xy", [0.0, 0.0, 0.0, 0.0]),
}

ALL_ALIKE = ("one answer", "one item", "nothing positive", "all positive")
NOBODY_WRONG = ("one answer", "all equal", "60 labels of which one is used")  # by the observed frequencies of labels
REFUSED = {  # with what their fields are by default
    "model_a": (*NOBODY_WRONG, "the same answer many times"),
    "model_a_multi": (*NOBODY_WRONG, "the same answer many times", "an unused label", "an item without answers"),
    "binomial_mixture": ALL_ALIKE,
    "gaussian_mixture": (*ALL_ALIKE, "an item without answers", "other numbers of answers", "an item of many answers"),
    "diligent_lazy_annotators": ("an unused label", "60 labels", "60 labels of which one is used"),
}


EVERY_SHAPE, AWKWARD = ("model_b", "mace"), ("one answer", "60 labels of which one is used", "an item without answers")


MANY_LABELS = ("60 labels", "60 labels of which one is used")  # of which graphs of some models take long


def fits():
    """The models on the shapes that their class of data has, by each of their quick methods."""
    for name, model in list_model_classes().items():
        quick, slow = (("em", "vb"), ()) if issubclass(model, ConjugateModel) else (("draws",), ("advi",))
        shapes = {ba.CountData: COUNTS, ba.RatingData: RATINGS}.get(model.data_class, SHAPES)
        for shape in shapes:
            if name in (*EVERY_SHAPE, "rating") or shape in AWKWARD:
                yield from ((name, shape, method) for method in quick if method != "draws" or shape not in MANY_LABELS)
            yield from (pytest.param(name, shape, method, marks=pytest.mark.slow) for method in slow)


def make(model, shape):
    """Data of this shape, of the class that the model takes; of several dimensions, all are alike."""
    kind = model.data_class
    if kind is ba.RatingData:
        item, annotator, names, value = RATINGS[shape]
        return ba.RatingData(
            item=item, annotator=annotator, value=value, scale=(0, 100), items=tuple(names), annotators=("a", "b")
        )
    if kind is ba.CountData:
        successes, trials = COUNTS[shape]
        return ba.CountData(items=tuple(f"s{n}" for n in range(len(trials))), successes=successes, trials=trials)
    one = SHAPES[shape]
    return one if kind is ba.AnnotationData else ba.MultiAnnotationData(by_dimension={"x": one, "y": one})


def are_probabilities(table):
    """Whether the columns p[...] sum to 1 in each row; of several dimensions a row has those of its own."""
    p = table[[name for name in table.columns if name.startswith("p[")]].to_numpy(dtype=float)
    assert p.shape[1] >= 1  # of `label_usage`, whose items are all alike
    assert ((p >= 0) & (p <= 1) | np.isnan(p)).all()
    np.testing.assert_allclose(np.nansum(p, axis=1), 1, atol=1e-6)
    if "probability" in table:
        np.testing.assert_allclose(np.nanmax(p, axis=1), table["probability"], atol=1e-9)
    return not np.isnan(p).all(axis=0).any()


@pytest.mark.parametrize(("name", "shape", "method"), [*fits()])
def test_it_ends_in_tables_or_in_one_line(name, shape, method):
    model = ba.get_model(name)
    data = make(model, shape)
    options = {"method_options": {"steps": 200, "starts": 2}} if method == "advi" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few draws, and of designs that do not say who is right
        try:
            if method == "draws":
                model.check(data)
                fit, refused = from_prior(model, data, 8), ""
            else:
                fit, refused = ba.fit(model, data, method=method, **options, **FEW), ""
        except BayesannoError as error:
            fit, refused = None, str(error)
        assert bool(refused) == (shape in REFUSED.get(name, ())), refused
        if fit is None:
            assert len(refused.splitlines()) == 1
            return
        parameters = ba.summary(fit)
        if {one.kind for one in model.latents(data)} & {"labels", "types"}:
            labels = ba.label_table(fit)
            assert are_probabilities(labels)
            assert set(labels["item"]) == set(data.items)
    assert len(parameters)
    assert np.isfinite(parameters["mean"]).all()
    if model.competence is not None:
        annotators = ba.annotator_table(fit)
        assert set(annotators["annotator"]) == set(data.annotators)
