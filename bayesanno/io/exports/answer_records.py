"""Records of answers, as programs write them: an object for each answer, such as those of judges that are models.

The item and the label are fields by the names that columns of a table have; `id` and `score` do too. The annotator is a
field, or a template over fields: `{model}/{prompt}`. A table is read so where the annotator is a template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed
from bayesanno.io.exports.answers import Answer, mention_item
from bayesanno.io.exports.document import Document
from bayesanno.io.exports.export import Export
from bayesanno.io.read_options import ReadOptions
from bayesanno.io.text_table import header_only

_ALSO = {"item": "id", "label": "score"}


def looks_like_records(document: Document, options: ReadOptions) -> bool:
    """Return whether the first record has an item and a label; of a table, whether the annotator is a template."""
    if document.kind == "table":
        return options.annotator is not None and "{" in options.annotator
    named = {"item": options.item, "label": options.label}
    header = header_only(document.name, document.first)
    return document.kind != "zip" and all(
        named[role] or header.matching(role) or also in document.first for role, also in _ALSO.items()
    )


def read_records(document: Document, options: ReadOptions) -> Iterator[Answer]:
    """Yield the answer of each record, or with several label fields an answer for each."""
    fields: dict[str, str] = {}
    for record in document.records():
        fields = fields or _find_fields(document.name, record.as_object(), options)
        item = record.fill_in(fields["item"], "item")
        for question in options.label or (fields["label"],):
            labels = record.look_up(question).as_labels()
            annotator = record.fill_in(fields["annotator"], "annotator") if labels is not None else ""
            yield Answer(record.place, item, annotator, question, labels)
        gold = fields.get("gold")
        yield from mention_item(record, item, gold if options.gold is not None or gold in record.as_object() else None)


def _find_fields(name: str, first: Mapping[str, Any], options: ReadOptions) -> dict[str, str]:
    """Return the fields of item, annotator, label and, where there is one, gold: as named, or known by their names."""
    found = {"item": options.item, "annotator": options.annotator, "gold": options.gold}
    found["label"] = options.label[0] if options.label else None
    table = header_only(name, first)
    for role, also in (*_ALSO.items(), ("gold", None), ("annotator", None)):
        if found[role] is None:
            column = table.find(role)
            found[role] = table.header[column] if column is not None else also if also in first else None
    if options.gold is None and found["gold"] in options.label:
        found["gold"] = None
    if found["annotator"] is None:
        others = [field for field in table.header if field not in found.values()]
        example = "{" + "}/{".join(others[:2]) + "}"
        raise DataError(
            f"{name}: no field says who gave an answer: name it, or a template over fields, with annotator=..."
            + (f", as in annotator={example!r}; the fields are {listed(table.header)}" if others else "")
        )
    missing = next((role for role in ("item", "label") if found[role] is None), None)
    if missing is not None:
        raise DataError(f"{name}: no field for the {missing} among {listed(table.header)}: name it with {missing}=...")
    return {role: field for role, field in found.items() if field is not None}


RECORDS = Export(
    name="records",
    form="JSON or JSONL, an object with item, annotator and label for each answer",
    looks_like=looks_like_records,
    read=read_records,
    uses=frozenset({"item", "annotator", "gold", "multi_label"}),
)
