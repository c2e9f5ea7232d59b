"""Labels as a folder of Parquet, of fits whose items are in memory; of those on a cluster, in test_dask."""

from dataclasses import replace

import pandas as pd
import pytest

import bayesanno as ba
from bayesanno._core.messages import DataError, DataFileError, FitError
from bayesanno.analysis.write_labels import write_file


@pytest.fixture(scope="module")
def data():
    return ba.read_annotations("@crowd")


@pytest.fixture(scope="module")
def fit(data):
    return ba.fit("mace", data, method="em", method_options={"restarts": 1}, random_seed=1, progressbar=False)


def test_labels_are_those_of_the_table(fit, data, tmp_path):
    labels = ba.label_table(fit)
    for given, folder in ((data, tmp_path / "given"), (None, tmp_path / "own")):
        written = ba.write_labels(fit, given, folder)
        pd.testing.assert_frame_equal(pd.read_parquet(folder), labels)
        assert [path.name for path in folder.iterdir()] == ["part.00000.parquet"]
        assert (written.n_items, written.n_gold) == (300, 300)
        assert written.accuracy == (labels["label"] == labels["gold"]).mean()


def test_labels_of_other_items_are_predicted(fit, data, tmp_path):
    some = replace(data, items=tuple(f"new {item}" for item in data.items), gold={f"new {data.items[0]}": "other"})
    written = ba.write_labels(fit, some, tmp_path / "labels")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "labels"), ba.predict_labels(fit, some))
    assert (written.n_items, written.n_gold) == (300, 1)


def test_items_of_several_dimensions_count_once_and_types_have_no_gold(tmp_path):
    label = pd.DataFrame({"label": ["no", "yes", "yes", "no"], "gold": ["no", "no", "yes", ""]})
    several = label.assign(item=["a", "b", "a", "b"], dimension=["one", "one", "two", "two"])
    written = write_file(several, several["item"].nunique(), tmp_path, 0)
    assert (written.n_items, written.n_gold, written.n_right) == (2, 3, 2)
    types = several.rename(columns={"label": "item_type"})
    assert write_file(types, 4, tmp_path, 1).accuracy is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.00000.parquet", "part.00001.parquet"]


def test_what_cannot_be_written_is_refused_and_leaves_nothing(fit, data, tmp_path, refuses):
    (tmp_path / "there").mkdir()
    for given, folder, error, match in (
        (data, "there", DataFileError, "there exists: choose another"),
        (data, "no/labels", DataFileError, "there is no folder"),
        ("answers", "labels", FitError, "this fit is in memory"),
        (pd.DataFrame(), "labels", DataError, "predict from AnnotationData, not from DataFrame"),
    ):
        with refuses(error, match):
            ba.write_labels(fit, given, tmp_path / folder)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
