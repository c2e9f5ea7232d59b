"""Readers by name: shapes of tables, and exports of tools.

A line says where a reader is. Its file is imported when it is asked for.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

# Formats and exports are tried in this order; the last format takes every table.
FORMATS = {
    "snow": "bayesanno.io.formats.long:SNOW",
    "long": "bayesanno.io.formats.long:LONG",
    "grouped": "bayesanno.io.formats.wide:GROUPED",
    "votes": "bayesanno.io.formats.wide:VOTES",
    "wide": "bayesanno.io.formats.wide:WIDE",
}
EXPORTS = {
    "label-studio": "bayesanno.io.exports.label_studio:LABEL_STUDIO",
    "prodigy": "bayesanno.io.exports.prodigy:PRODIGY",
    "argilla": "bayesanno.io.exports.argilla:ARGILLA",
    "doccano": "bayesanno.io.exports.doccano:DOCCANO",
    "mturk": "bayesanno.io.exports.mturk:MTURK",
    "toloka": "bayesanno.io.exports.toloka:TOLOKA",
    "zooniverse": "bayesanno.io.exports.zooniverse:ZOONIVERSE",
    "records": "bayesanno.io.exports.records:RECORDS",
}
FORMAT_NAMES = ("auto", *FORMATS, *EXPORTS)


def load_all(registered: dict[str, str]) -> dict[str, Any]:
    """Import all that is registered, and return it by name, in order."""
    return {name: resolve_name(path) for name, path in registered.items()}
