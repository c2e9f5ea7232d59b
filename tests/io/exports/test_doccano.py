"""doccano's zip, with a file for each member."""

import io
import json
import re
import zipfile

from bayesanno._core.messages import DataError
from bayesanno.io.read import read_annotations
from tests.io.cases import reading, refusing


def packed(password=False, **members):
    """A zip as doccano writes it: `ada__jsonl` is the file ada.jsonl."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if not isinstance(content, str | bytes):
                content = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in content)
            archive.writestr(re.sub("__(?=[a-z]+$)", ".", name), content)
    made = raw.getvalue()
    return made.replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01").replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
    ) if password else made  # fmt: skip


def example(number, *labels):
    return {"id": number, "text": "Größe 👍", "label": list(labels), "Comments": []}


ADA = [example(1, "pos"), example(2, "neg"), example(3)]
BO = [example(1, "neg"), example(2, "neg"), example(3)]


def test_the_annotator_is_the_member(keep, said):
    path = keep(packed(ada__jsonl=ADA, bo__jsonl=BO, admin__jsonl=[example(n) for n in (1, 2, 3)]), "project.zip")
    data, answers = said(path)
    assert answers == [("1", "ada", "pos"), ("2", "ada", "neg"), ("1", "bo", "neg"), ("2", "bo", "neg")]
    assert data.items == ("1", "2", "3")
    assert data.annotators == ("ada", "bo")  # who has annotated nothing is none
    assert said(path, format="doccano")[1] == answers


OLDER = [{"id": 1, "data": "x", "label": ["pos"]}, {"id": 2, "data": "y", "label": ["neg"]}]
INTENTS = [{"id": n, "text": "x", "cats": [each], "entities": [[0, 1, "LOC"]]} for n, each in enumerate(("a", "b"))]
SEVERAL = packed(ada__jsonl=[example(1, "pos", "odd"), example(2, "pos")], bo__jsonl=[example(1, "pos"), example(2)])
test_other_files_have_their_answers = reading({
    "older": (packed(**{"ada__json": json.dumps(OLDER), "__MACOSX/._ada__json": b"\0", "empty__jsonl": ""}), {},
              [("1", "ada", "pos"), ("2", "ada", "neg")]),
    "intents": (packed(ada__jsonl=INTENTS), {}, [("0", "ada", "a"), ("1", "ada", "b")]),
    "several labels": (SEVERAL, {"multi_label": True}, [  # an empty list is no answer
        ("1 / odd", "ada", "yes"), ("1 / pos", "ada", "yes"), ("2 / odd", "ada", "no"), ("2 / pos", "ada", "yes"),
        ("1 / odd", "bo", "no"), ("1 / pos", "bo", "yes")]),
})  # fmt: skip
test_what_is_wrong_is_named_with_its_file = refusing({
    "merged": (packed(all__jsonl=ADA), "it holds one file with all labels, without the annotators"),
    "merged, unpacked": (json.dumps(ADA[0]) + "\n" + json.dumps(BO[0]), "no field names the annotator"),
    "several labels": (SEVERAL, "ada.jsonl, line 1: an answer to item '1' has 2 labels"),
    "broken": (packed(ada__jsonl=ADA).replace(b"PK\x03\x04", b"PK\x03\x04\xff", 1), "cannot be unpacked"),
    "empty": (packed(), "is a zip without JSON or a table .*: it is empty"),
    "no table": (packed(ada__pdf="x"), "is a zip without JSON or a table .*: it holds 'ada.pdf'"),
    "password": (packed(password=True, ada__jsonl=ADA), "is a zip with a password: unpack it"),
    "Latin-1": (packed(ada__jsonl=b'{"id": 1, "text": "\xe9"}'), "ada.jsonl, line 1: byte 0xe9 is not UTF-8"),
    "not doccano": (packed(ada__jsonl=[{"x": 1}]), "the names 'x', '.file' do not say"),
}, "project.zip")  # fmt: skip


def test_no_more_is_unpacked_than_the_limits_say(keep, refuses, monkeypatch):
    bomb = keep(packed(ada__jsonl=b" " * 2_000_000 + b"{}"), "project.zip")
    assert bomb.stat().st_size < 10_000
    monkeypatch.setattr("bayesanno.io.sources.MOST_BYTES", 2**20)
    with refuses(DataError, r"project\.zip, unpacked, has over 1 MiB, and the limit .* is 1"):
        read_annotations(bomb)
    monkeypatch.setattr("bayesanno.io.sources.MOST_FILES", 2)
    with refuses(DataError, r"project\.zip is a zip of 3 files, and the limit is 2"):
        read_annotations(keep(packed(a__jsonl=ADA, b__jsonl=BO, c__jsonl=BO), "project.zip"))


def test_names_in_a_zip_are_names(keep, said, tmp_path):
    said(keep(packed(**{"../../ada__jsonl": ADA, "/etc/bo__jsonl": BO}), "project.zip"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["project.zip"]
