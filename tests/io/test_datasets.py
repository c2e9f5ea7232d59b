"""The named data sets: their numbers, and what happens when one cannot be had."""

import hashlib
import io
from collections import Counter
from dataclasses import replace

import numpy as np
import pooch
import pytest
import requests

from bayesanno._core.messages import DataError, DataFileError
from bayesanno.io import datasets
from bayesanno.io.datasets import list_datasets, load_named
from bayesanno.io.read import read_annotations
from tests.io.simulated import make_judges
from tests.models.oracles_model_a import TABLE9, TABLE14_COUNTS

PATTERNS_OF_TWO = ("111", "112", "121", "122", "211", "212", "221", "222")
SHIPPED = ["@crowd", "@pairs", "@tickets", "@judges", "@anesthesia", "@table9", "@table14", "@table15"]
SNOW = {"@rte": (800, 164, 2, 8000), "@temporal": (462, 76, 2, 4620), "@wsd": (177, 34, 3, 1770)}


def count_patterns(data):
    answers = np.full((data.n_items, data.n_annotators), "")  # (item, annotator)
    answers[data.item, data.annotator] = np.array(data.labels)[data.label]
    return Counter("".join(row) for row in answers)


def test_tables_are_the_printed_ones():
    for name, counts in (("@table14", TABLE14_COUNTS), ("@table15", [564, 338, 1752, 867, 681, 342, 3730, 1726])):
        assert count_patterns(read_annotations(name)) == dict(zip(PATTERNS_OF_TWO, counts, strict=True))
    assert count_patterns(read_annotations("@table9")) == {cell: n for cell, (_, n) in TABLE9.items()}


def test_patients_have_the_answers_of_the_paper():
    table = read_annotations("@anesthesia").to_frame().groupby(["item", "annotator"])["label"].apply("".join).unstack()
    assert table.loc["patient 02"].tolist() == ["333", "4", "3", "3", "4"]  # Table 1 of Dawid and Skene (1979)
    assert (table.map(len) == [3, 1, 1, 1, 1]).all(axis=None)


@pytest.mark.parametrize("name", [*SHIPPED, *SNOW])
def test_the_list_gives_the_sizes_that_are_read(name, request, monkeypatch):
    if name in SNOW:
        monkeypatch.setenv("BAYESANNO_DATA", str(request.getfixturevalue("shared") / "data" / "raw"))
    data, listed = read_annotations(name), list_datasets().set_index("name").loc[name]
    assert listed[["items", "annotators", "labels"]].tolist() == [data.n_items, data.n_annotators, data.n_labels]
    if name in SNOW:  # as published
        assert (data.n_items, data.n_annotators, data.n_labels, data.n_annotations) == SNOW[name]
        assert len(data.gold) == data.n_items


@pytest.mark.usefixtures("by_numpy")
def test_the_file_that_ships_is_what_its_script_makes():
    assert load_named("@judges").read_text() == make_judges().to_csv(index=False, lineterminator="\n")


def test_options_of_a_named_data_set_give_way_to_others():
    assert read_annotations("@tickets").items[0] == "T000"
    assert read_annotations("@tickets", item="question").items[0].endswith("(T000)")


def test_the_list_has_every_name_and_an_unknown_one_is_refused_with_the_nearest(refuses):
    assert list_datasets()["name"].tolist() == [*SHIPPED, *SNOW]
    with refuses(DataError, r"no data set '@tempral': .*did you mean '@temporal'\?"):
        read_annotations("@tempral")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and no folder of local copies."""
    monkeypatch.delenv("BAYESANNO_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path / "cache")
    return tmp_path / "cache"


def test_a_local_copy_with_another_content_or_no_folder_is_refused(refuses, tmp_path, monkeypatch):
    (tmp_path / "wsd.standardized.tsv").write_text("orig_id\n")
    monkeypatch.setenv("BAYESANNO_DATA", str(tmp_path))
    with refuses(DataFileError, r"is not the published file: .*expected SHA-256 77b77c.*found \w{64}"):
        load_named("@wsd")
    monkeypatch.setenv("BAYESANNO_DATA", str(tmp_path / "nowhere"))
    with refuses(DataFileError, "BAYESANNO_DATA names '.*nowhere', which is not a folder"):
        load_named("@wsd")


def test_without_a_network_the_error_gives_the_address_and_the_way_out(refuses, cache, monkeypatch, capfd):
    tried = []

    def unreachable(url, **_):
        tried.append(url)
        raise ConnectionError("no route to host")

    monkeypatch.setattr("requests.get", unreachable)
    address = r"https://raw\.githubusercontent\.com/edwinrobots/.*/rte\.standardized\.tsv"
    with refuses(DataFileError, f"@rte cannot be fetched from {address}: .*BAYESANNO_DATA.*no route to host"):
        read_annotations("@rte")
    assert len(tried) == 1
    assert not list(cache.iterdir())
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def publish(monkeypatch):
    """A function that publishes a content at every address, and returns a list of those that are then asked for."""

    def answer(content):
        def get(url, **_):
            asked.append(url)
            response = requests.Response()
            response.status_code, response.raw = 200, io.BytesIO(content)
            return response

        asked = []
        monkeypatch.setattr("requests.get", get)
        return asked

    return answer


def test_a_file_is_fetched_once_and_in_silence(cache, publish, monkeypatch, capfd):
    content = b"!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold\n1\ta\t1\t1\t1\n"
    published = replace(datasets._NAMED["@wsd"], sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(datasets._NAMED, "@wsd", published)
    asked = publish(content)
    assert load_named("@wsd") == load_named("@wsd") == cache / "wsd.standardized.tsv"
    assert (cache / "wsd.standardized.tsv").read_bytes() == content
    assert len(asked) == 1
    assert capfd.readouterr() == ("", "")


def test_a_fetched_file_with_another_content_is_refused_and_not_kept(refuses, cache, publish):
    publish(b"orig_id\n")
    with refuses(DataFileError, "@wsd cannot be fetched from .*77b77c0f63803"):
        load_named("@wsd")
    assert not list(cache.iterdir())
