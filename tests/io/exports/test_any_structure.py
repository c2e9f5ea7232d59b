"""Whatever a file of JSON holds, it ends in data or in an error of ours, in one line."""

import json
import re
import warnings
from copy import deepcopy

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesanno._core.messages import DataError, DataFileError
from bayesanno.io.read import read_annotations
from bayesanno.io.tools import list_tools
from tests.io.exports.test_argilla import FLAT, NESTED, OLD
from tests.io.exports.test_label_studio import MINIMAL, PROJECT
from tests.io.exports.test_prodigy import BINARY, CHOICES

SEEDS = {
    "label-studio": PROJECT[:2],
    "JSON_MIN": MINIMAL,
    "prodigy": [CHOICES[0], BINARY[1]],
    "argilla": FLAT[:2],
    "argilla, nested": NESTED[:1],
    "argilla, of the first version": OLD,
    "doccano": [{"id": 1, "text": "x", "label": ["a"]}, {"id": 2, "text": "y", "label": []}],
    "records, several": [
        {"item": 1, "annotators": ["x", "y"], "labels": [1, 2]}, {"item": 2, "annotators": ["x"], "labels": ["1"]}
    ],
    "records, by names": {"1": {"annotators": "x,y", "annotations": {"x": "1", "y": "2"}}},
    "records, separated": {"1": {"annotators": "x,y", "annotations": "1,2"}},
    "records": [{"item": 1, "judge": "x", "label": 1}, {"item": 2, "judge": "x", "label": 2.5, "gold": True}],
}  # fmt: skip
NAMES = sorted(set(re.findall(r"\w+", json.dumps(SEEDS))))[:160:2]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(NAMES),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
options = st.fixed_dictionaries(
    {},
    optional={
        "format": st.sampled_from(["auto", *list_tools(), "records", "long", "wide"]),
        "item": st.sampled_from(["id", "data.key", "{id}", "nowhere", "", "{}", ".", "{item}/{id}"]),
        "annotator": st.sampled_from(["judge", "{judge}/{item}", "{", "{}", ""]),
        "label": st.sampled_from(["sentiment", "SPORTS", "label", "nowhere", ""]),
        "gold": st.sampled_from(["data.key", "gold", "label"]),
        "labels": st.just(["pos", "neg"]),
        "split": st.sampled_from([",", "|", ""]),
        "missing": st.just(["1"]),
        "columns": st.just(["annotators", "q"]),
    } | dict.fromkeys(("predictions", "multi_label", "drop_rejected"), st.booleans()),
)  # fmt: skip


def paths_in(value, path=()):
    """All places in a structure at which something can be put instead."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from paths_in(part, (*path, name))


def put(value, path, new, remove=False):
    """The structure with something else at a place, or nothing."""
    if not path:
        return new
    changed = deepcopy(value)
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    if remove:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return changed


@st.composite
def exports_gone_wrong(draw):
    value = draw(st.sampled_from(list(SEEDS.values())))
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(list(paths_in(value))))
        value = put(value, path, draw(values), draw(st.booleans()))
    return value


def ends_well(source, given):
    """Read it: data, or an error of ours in one line; any other exception is the test's failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data, refused = read_annotations(source, **given), None
        except (DataError, DataFileError) as error:  # a list of texts names files
            data, refused = None, str(error)
    assert refused.strip() if refused else data.n_annotations
    return data


@settings(max_examples=200)
@given(value=exports_gone_wrong() | values, lines=st.booleans(), cut=st.integers(0, 60), chosen=options)
def test_any_structure_ends_in_data_or_an_error_of_ours(tmp_path_factory, value, lines, cut, chosen):
    """As a file, in memory, and as a table of cells that are lists and objects, or their text."""
    folder = tmp_path_factory.mktemp("any")
    whole = "\n".join(map(json.dumps, value)) if lines and isinstance(value, list) else json.dumps(value)
    (folder / "x.json").write_text(whole[: len(whole) - cut] if cut > 30 else whole)
    ends_well(folder / "x.json", chosen)
    records = value if isinstance(value, list) else [value]
    ends_well(value if isinstance(value, dict) else records, chosen)
    frame = pd.DataFrame([each if isinstance(each, dict) else {"item": each} for each in records])
    ends_well(frame, chosen)
    (folder / "x.csv").write_text(frame.to_csv(index=False), encoding="utf-8", errors="replace")
    data = ends_well(folder / "x.csv", chosen)
    if data is not None and "labels" not in chosen:
        assert not any(each.startswith(("['", '["', "{'")) for each in data.labels)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [name for name in SEEDS if name != "doccano"])  # which is a zip
def test_the_structures_that_it_starts_from_are_read(name):
    needed = {"JSON_MIN": {"label": "sentiment"}, "prodigy": {"label": "SPORTS"}, "records, separated": {"split": ","}}
    labels = ["1", "2", "2.5", "true", "pos", "neg", "Positive", "Negative", "reject", "accept"]
    assert read_annotations(SEEDS[name], **{"labels": labels, **needed.get(name, {})}).n_annotations
