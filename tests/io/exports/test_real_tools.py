"""The exports that the tools' own packages write, and tables of other packages: skipped where these are not installed.

They are not among the dependencies of development:

    uv run --isolated --with-requirements .ci/tools.txt pytest -m extras tests/io/exports
"""

import itertools
import json
from uuid import UUID

import pytest

from bayesanno._core.messages import ExportWarning

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CONFIG = """<View><Text name="text" value="$text"/>
<Choices name="mood" toName="text" choice="multiple"><Choice value="good"/><Choice value="bad"/></Choices>
<Rating name="stars" toName="text"/>
<Taxonomy name="kind" toName="text"><Choice value="A"><Choice value="B"/></Choice></Taxonomy></View>"""
ADA, BO = UUID(int=1), UUID(int=2)
IDS = itertools.count(1)


def result(value, question, kind):
    return {"id": "x", "from_name": question, "to_name": "text", "type": kind, "value": {kind: value}}


def annotation(by, *results, **more):
    return {"id": next(IDS), "completed_by": by, "created_at": "2021", "result": list(results), **more}


def test_json_min_of_label_studio_s_converter(said, tmp_path):
    converter = pytest.importorskip("label_studio_sdk.converter")
    first = annotation(
        {"email": "ada@x"}, result(["good"], "mood", "choices"), result(4, "stars", "rating"),
        result([["A", "B"]], "kind", "taxonomy"),
    )  # fmt: skip
    tasks = [
        {
            "id": 1,
            "data": {"text": "a"},
            "annotations": [first, annotation(3, result(["bad", "good"], "mood", "choices"))],
        },
        {"id": 2, "data": {"text": "b"}, "annotations": [annotation(3, was_cancelled=True)]},
        {"id": 3, "data": {"text": "c"}, "annotations": []},
    ]
    source = tmp_path / "tasks.json"
    source.write_text(json.dumps(tasks))
    converter.Converter(CONFIG, str(tmp_path)).convert_to_json_min(str(source), str(tmp_path / "min"), is_dir=False)
    (exported,) = (tmp_path / "min").iterdir()
    for question, label in (("stars", "4"), ("kind", "A/B")):
        with pytest.warns(ExportWarning):
            assert said(exported, label=question, labels=[label, "other"])[1] == [("1", "ada@x", label)]
    chosen = {"label": "mood", "multi_label": True}
    with pytest.warns(ExportWarning):
        answers = said(exported, **chosen)[1]
    assert answers == said(source, **chosen)[1]
    assert len(answers) == 4


@pytest.fixture
def records():
    argilla = pytest.importorskip("argilla")
    return [
        argilla.Record(
            id="a",
            fields={"text": "x"},
            responses=[
                argilla.Response("label", "pos", user_id=ADA, status="submitted"),
                argilla.Response("label", "neg", user_id=BO, status="submitted"),
            ],
            suggestions=[argilla.Suggestion("label", "neg", score=0.7, agent="bert")],
        ),
        argilla.Record(id="b", fields={"text": "y"}),
        argilla.Record(
            id="c", fields={"text": "z"}, responses=[argilla.Response("label", "pos", user_id=ADA, status="submitted")]
        ),
    ]


def test_records_of_argilla(records, said, keep, tmp_path):
    from argilla.records._io import GenericIO
    from datasets import Dataset

    expected = [("a", str(ADA), "pos"), ("a", str(BO), "neg"), ("c", str(ADA), "pos")]
    dataset = Dataset.from_dict(GenericIO.to_dict(records, flatten=True))  # as to_datasets does
    dataset.to_parquet(tmp_path / "records.parquet")
    flat, nested = GenericIO.to_list(records, flatten=True), GenericIO.to_list(records)
    by_id = GenericIO.to_dict(records, flatten=True, orient="index")
    for source in (flat, nested, keep(flat), keep(nested), GenericIO.to_dict(records, flatten=True), by_id, dataset,
                   tmp_path / "records.parquet"):  # fmt: skip
        data, answers = said(source)
        assert answers == expected
        assert data.items == ("a", "b", "c")
        assert said(source, predictions=True)[0].annotators == (str(ADA), str(BO), "bert")


def test_tables_of_polars_and_of_hugging_face(said):
    polars, datasets = pytest.importorskip("polars"), pytest.importorskip("datasets")
    columns = {"item": ["a", "a", "b"], "annotator": ["x", "y", "x"], "label": [1, None, 2]}
    expected = [("a", "x", "1"), ("b", "x", "2")]
    assert said(polars.DataFrame(columns))[1] == expected
    assert said(datasets.Dataset.from_dict(columns))[1] == expected
