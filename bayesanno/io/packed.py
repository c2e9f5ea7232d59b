"""Compressed files (gzip and zip), unpacked in memory up to a number of files and a size.

The invariant: nothing in a file is executed, opened or fetched, and no path in it is followed: the parts of a zip are
read by their names from its list. Compressed files inside a zip are not unpacked.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from bayesanno._core.errors import DataError
from bayesanno._core.wording import counted, listed

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # the second begins an empty one
MOST_BYTES = 500 * 2**20  # of JSON, and of what is unpacked
MOST_FILES = 1000  # in a zip
WORKBOOK, JSON = "xl/workbook.xml", (".json", ".jsonl")
_KINDS = ((WORKBOOK,), JSON, (".csv", ".tsv", ".parquet", ".pq"), (".txt",))  # the first that there is; notes come last


def unpack_gzip(raw: bytes, name: str) -> bytes:
    """Return the contents of a gzip file.

    Raises
    ------
    DataError
        If it cannot be unpacked, or is too large.
    """
    with _refusing_broken(name), gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
        content = packed.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(explain_size(f"{name}, unpacked,", len(content)))
    return content


def unpack_zip(raw: bytes, name: str) -> dict[str, bytes]:
    """Return the files of a zip by name: the parts of a workbook, or else those of JSON, or else those of tables.

    Raises
    ------
    DataError
        If it cannot be unpacked, has none of these, or too many or too large ones.
    """
    found: dict[str, bytes] = {}
    with _refusing_broken(name), zipfile.ZipFile(io.BytesIO(raw)) as archive:
        listing = [each for each in archive.infolist() if not each.is_dir()]
        if len(listing) > MOST_FILES:
            raise DataError(f"{name} is a zip of {counted(len(listing), 'file')}, and the limit is {MOST_FILES:,}")
        listing = [each for each in listing if not each.filename.startswith("__MACOSX/")]
        for endings in _KINDS:
            wanted = [each for each in listing if each.filename.casefold().endswith(endings)]
            wanted = listing if wanted and endings == (WORKBOOK,) else wanted
            left = MOST_BYTES
            for each in wanted:
                if each.filename in found:
                    raise DataError(f"{name} holds {each.filename!r} twice: export it again")
                with archive.open(each) as packed:
                    found[each.filename] = packed.read(max(left, 0) + 1)
                left -= len(found[each.filename])
                if left < 0:
                    raise DataError(explain_size(f"{name}, unpacked,", max(each.file_size, MOST_BYTES + 1)))
            if found:
                return found
    names = [each.filename for each in listing]
    what = f"it holds {listed(names, most=5)}" if names else "it is empty"
    raise DataError(f"{name} is a zip without JSON or a table (CSV, TSV, Parquet): {what}")


def explain_size(name: str, size: int) -> str:
    """Return the message for a file of JSON, or one that is packed, that is too large."""
    return (
        f"{name} has over {(size - 1) // 2**20:,} MiB, and the limit for JSON and compressed files is "
        f"{MOST_BYTES // 2**20}: export a part of the project at a time, or give an unpacked table in CSV or Parquet"
    )


@contextmanager
def _refusing_broken(name: str) -> Iterator[None]:
    """Raise a DataError for any error of unpacking."""
    try:
        yield
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{name} cannot be unpacked ({reason}): export or copy it again") from None
    except RuntimeError:  # zipfile raises it for a file with a password
        raise DataError(f"{name} is a zip with a password: unpack it, and zip it again without one") from None
