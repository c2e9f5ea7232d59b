"""Files and folders that are complete or absent: written under a temporary name, and renamed."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from zlib import crc32

from bayesanno.ground.errors import DataFileError

# No space, no quota, too large a file, a broken disk: whatever was being written, it was what is written here.
OF_DISKS = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO") if hasattr(errno, name)}


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a temporary path next to this one for a file or a folder; at the end of the block it takes its place.

    What was there is replaced; a folder only by a folder. If the block fails, what was there stays, and what was made
    is removed; a finished folder that may not take its place is kept beside it. The new one is made like any other: the
    umask says who may read it. A process that is killed leaves what it made, a hidden file or folder; the next on the
    same machine that writes the same path removes that.

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
    _remove_left_behind(path)
    unfinished = path.with_name(f".{path.name}.{_machine()}-{os.getpid()}-{token_hex(4)}.tmp")
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
                kept = unfinished.replace(path.with_name(f"{path.name}.{token_hex(4)}"))
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
        _remove(unfinished)


def _remove_left_behind(path: Path) -> None:
    """Remove what was made next to a path, to take its place, by processes of this machine that run no more.

    What another machine made is left, and so is a former folder whose place nothing has taken.
    """
    if os.name != "posix":  # elsewhere there is no asking for a process by its number alone
        return
    own = re.compile(rf"\.{re.escape(path.name)}\.{_machine()}-(\d+)-[0-9a-f]{{8}}\.(tmp|old)")
    with suppress(OSError):
        for beside in list(path.parent.iterdir()):
            found = own.fullmatch(beside.name)
            if found and not _runs(int(found[1])) and (found[2] == "tmp" or path.exists()):
                _remove(beside)


def _machine() -> str:
    """Return this machine's name in eight characters: processes are known by their numbers there, and nowhere else."""
    return f"{crc32(socket.gethostname().encode()):08x}"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's, or none of ours
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):  # nothing is there, or all is read-only by now
            path.unlink()
