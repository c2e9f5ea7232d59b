"""Data sets by name: `@name` stands for a file that ships with the package or is downloaded once.

The invariant: `@name` gives the same data everywhere. A downloaded file without the checksum recorded here is refused.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayesanno._core.lazy import pd
from bayesanno._core.messages import DataError, DataFileError, listed, nearest
from bayesanno._core.running import quiet_logger

FOLDER_VARIABLE = "BAYESANNO_DATA"

_ADDRESS = (
    "https://raw.githubusercontent.com/edwinrobots/bayesian_combination_tutorial2/"
    "f98448e2e9a941463aa92f418eefd1f43bd5a637/all_collected_data/"
)
_SECONDS = (5, 30)  # timeouts for the connection and for each read


@dataclass(frozen=True)
class NamedData:
    """A data set with a name: its file, size and source; `sha256` only if it is downloaded.

    `options` are the defaults for reading it.
    """

    file: str
    items: int
    annotators: int
    labels: int
    source: str
    sha256: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


_RZHETSKY = "Rzhetsky, Shatkay & Wilbur 2009, supplement"
_SNOW = "Snow et al. 2008"
_RTE = "3187c5de59b9b9c596d490d25b5f5f108090a35cbdd10e81f21e6d1939d6ba79"
_TEMPORAL = "7f74de9f36a0d3dfdc1f51e6433526abfc788c616d0c2d04a96206780ac74860"
_WSD = "77b77c0f63803bcb62d3a15c199e301bacbd4dbe012278600bd34f1e5f8a8ed9"

_OF_PATTERNS = {"columns": ("i", "j", "k")}
_SIMULATED = f"{_RZHETSKY}, Table {{}} (simulated, model {{}})"
_NAMED = {
    "@crowd": NamedData("crowd.csv", 300, 25, 4, "simulated by bayesanno"),
    "@pairs": NamedData("pairs.csv", 300, 5, 3, "simulated by bayesanno", options={"pairs": ("model_a", "model_b")}),
    "@tickets": NamedData(
        "tickets.csv", 60, 5, 3, "simulated by bayesanno", options={"item": "ticket", "label": "topic"}
    ),
    "@judges": NamedData("judges.csv", 240, 6, 2, "simulated by bayesanno"),
    "@anesthesia": NamedData("anesthesia.csv", 45, 5, 4, "Dawid & Skene 1979, Table 1: fitness of patients"),
    "@table9": NamedData("table9.csv", 10_000, 3, 3, _SIMULATED.format(9, "A"), options=_OF_PATTERNS),
    "@table14": NamedData("table14.csv", 10_000, 3, 2, _SIMULATED.format(14, "B"), options=_OF_PATTERNS),
    "@table15": NamedData("table15.csv", 10_000, 3, 2, _SIMULATED.format(15, "B"), options=_OF_PATTERNS),
    "@rte": NamedData("rte.standardized.tsv", 800, 164, 2, f"{_SNOW}, textual entailment", _RTE),
    "@temporal": NamedData("temp.standardized.tsv", 462, 76, 2, f"{_SNOW}, temporal order of events", _TEMPORAL),
    "@wsd": NamedData("wsd.standardized.tsv", 177, 34, 3, f"{_SNOW}, word senses", _WSD),
}


def list_datasets() -> pd.DataFrame:
    """Return the named data sets as a table: name, items, annotators, labels, source; shape (data set, 5).

    Examples
    --------
    >>> from bayesanno.io.datasets import list_datasets
    >>> list_datasets().set_index("name").loc["@rte", ["items", "annotators", "labels"]].tolist()
    [800, 164, 2]
    """
    columns = ("items", "annotators", "labels", "source")
    table = {"name": list(_NAMED)} | {what: [getattr(entry, what) for entry in _NAMED.values()] for what in columns}
    return pd.DataFrame(table).astype(dict.fromkeys(("items", "annotators", "labels"), "Int64"))


def options_of(source: object) -> Mapping[str, Any]:
    """Return the options that a named data set is read with; empty for other sources.

    Examples
    --------
    >>> from bayesanno.io.datasets import options_of
    >>> options_of("@pairs"), options_of("@crowd")
    ({'pairs': ('model_a', 'model_b')}, {})
    """
    return _NAMED[source].options if isinstance(source, str) and source in _NAMED else {}


def load_named(name: str) -> Path:
    """Return the file of a named data set, and download it first if necessary.

    A copy in the folder that the environment variable BAYESANNO_DATA names takes the place of the download. What is
    fetched is kept in the user's cache folder.

    Raises
    ------
    DataError
        If there is no data set of that name.
    DataFileError
        If the file cannot be fetched, its checksum is not the recorded one, or BAYESANNO_DATA names no folder.

    Examples
    --------
    >>> from bayesanno.io.datasets import load_named
    >>> load_named("@table14").name
    'table14.csv'
    """
    entry = _NAMED.get(name)
    if entry is None:
        raise DataError(f"there is no data set {name!r}: choose one of {listed(list(_NAMED))}{nearest(name, _NAMED)}")
    if entry.sha256 is None:
        path = Path(__file__).parent / "named_data" / entry.file
        if not path.is_file():
            raise DataFileError(f"the file of {name}, {str(path)!r}, is missing: install bayesanno again")
        return path
    return _local_copy(entry.file, entry.sha256) or _fetch(name, entry.file, entry.sha256)


def _local_copy(file: str, sha256: str) -> Path | None:
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        return None
    if not Path(named).is_dir():
        raise DataFileError(f"{FOLDER_VARIABLE} names {named!r}, which is not a folder: correct it or unset it")
    path = Path(named) / file
    if not path.is_file():
        return None
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise DataFileError(
            f"{str(path)!r} is not the published file: expected SHA-256 {sha256}, found {found}; replace or remove it"
        )
    return path


def _fetch(name: str, file: str, sha256: str) -> Path:
    import pooch

    address = _ADDRESS + file
    # HTTPDownloader passes its arguments to requests.get, which has no timeout by default
    downloader = pooch.HTTPDownloader(timeout=_SECONDS)
    try:
        with quiet_logger("pooch", logging.WARNING):  # it would announce each download
            kept = pooch.retrieve(address, sha256, file, pooch.os_cache("bayesanno"), downloader=downloader)
        return Path(kept)
    except (OSError, ValueError) as error:  # requests raises OSErrors; pooch raises a ValueError for a wrong checksum
        reason = " ".join(str(error).split())
        shown = reason if len(reason) <= 400 else f"{reason[:400]}..."
        raise DataFileError(
            f"{name} cannot be fetched from {address}: download that file into a folder and name the folder in the "
            f"environment variable {FOLDER_VARIABLE} ({type(error).__name__}: {shown})"
        ) from None
