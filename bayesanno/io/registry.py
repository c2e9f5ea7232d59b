"""Readers of the exports of tools, by name.

A line says where a reader is. Its file is imported when it is asked for.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

SHAPES = ("long", "wide", "votes")  # of tables
EXPORTS = {  # tried in this order
    "label-studio": "bayesanno.io.exports.label_studio:LABEL_STUDIO",
    "prodigy": "bayesanno.io.exports.prodigy:PRODIGY",
    "argilla": "bayesanno.io.exports.argilla:ARGILLA",
    "doccano": "bayesanno.io.exports.doccano:DOCCANO",
    "mturk": "bayesanno.io.exports.mturk:MTURK",
    "toloka": "bayesanno.io.exports.toloka:TOLOKA",
    "zooniverse": "bayesanno.io.exports.zooniverse:ZOONIVERSE",
    "records": "bayesanno.io.exports.records:RECORDS",
}
FORMAT_NAMES = ("auto", *SHAPES, *EXPORTS)


def load_all(registered: dict[str, str]) -> dict[str, Any]:
    """Import all that is registered, and return it by name, in order."""
    return {name: resolve_name(path) for name, path in registered.items()}
