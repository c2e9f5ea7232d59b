"""Files and folders that are complete or absent: written under a temporary name, and renamed."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from bayesanno.ground.errors import DataFileError

# No space, no quota, too large a file, a broken disk: whatever was being written, it was what is written here.
OF_DISKS = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO") if hasattr(errno, name)}


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a temporary path next to this one for a file or a folder; at the end of the block it takes its place.

    What was there is replaced; a folder only by a folder. If the block fails, what was there stays, and what was made
    is removed; a finished folder that may not take its place is kept beside it. The new one is made like any other: the
    umask says who may read it.

    Raises
    ------
    DataFileError
        If it cannot be written: the disk is full, the folder read-only, or what is to be replaced in use. Other errors
        of the block are as they were.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from bayesanno.ground.files import write_whole
    >>> with TemporaryDirectory() as folder:
    ...     with write_whole(Path(folder, "data.txt")) as unfinished:
    ...         _ = unfinished.write_text("all of it")
    ...     [path.name for path in Path(folder).iterdir()]
    ['data.txt']
    """
    unfinished = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    old = unfinished.with_suffix(".old")
    try:
        yield unfinished
        try:
            if unfinished.is_dir() and path.exists():
                path.replace(old)
            unfinished.replace(path)
        except OSError as error:
            if old.exists():
                old.replace(path)
            if isinstance(error, PermissionError) and unfinished.is_dir():  # Windows, if a file in it is open elsewhere
                kept = unfinished.replace(path.with_name(unfinished.stem.removeprefix(".")))
                raise DataFileError(
                    f"{str(path)!r} cannot be replaced: a program may have a file in it open; what was made is in "
                    f"{str(kept)!r}"
                ) from error
            raise
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if isinstance(error, DataFileError):  # of a file in this folder, which has another name for the user
            raise DataFileError(str(error).replace(str(unfinished), str(path))) from error
        if error.errno not in OF_DISKS and str(unfinished) not in f"{error} {error.filename}":
            raise
        raise DataFileError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished, ignore_errors=True)
        else:
            with suppress(OSError):  # nothing is there, or all is read-only by now
                unfinished.unlink()
