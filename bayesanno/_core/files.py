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

from bayesanno._core.messages import DataFileError

# No space, no quota, too large a file, a broken disk: errors of the write itself, wherever they are raised.
OF_DISKS = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO") if hasattr(errno, name)}


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to this one for a file or a folder, which replaces this one at the end of the block.

    An existing file or folder is replaced; a folder only by a folder. If the block fails, the old one is kept and the
    new one is removed. A finished folder that cannot replace the old one is kept beside it. Permissions follow the
    umask, as usual. A killed process leaves a hidden file or folder, which the next process on the same machine that
    writes this path removes.

    Raises
    ------
    DataFileError
        If the path cannot be written: the disk is full, the folder is read-only, or the old one is in use. Other errors
        in the block are passed on.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from bayesanno._core.files import write_whole
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
            if (
                isinstance(error, PermissionError) and unfinished.is_dir()
            ):  # on Windows, if a file in it is open elsewhere
                kept = unfinished.replace(path.with_name(f"{path.name}.{token_hex(4)}"))
                raise DataFileError(
                    f"{str(path)!r} cannot be replaced: a program may have a file in it open; what was made is in "
                    f"{str(kept)!r}"
                ) from error
            raise
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if isinstance(error, DataFileError):  # about a file in this folder, under a name that the user does not know
            raise DataFileError(str(error).replace(str(unfinished), str(path))) from error
        if error.errno not in OF_DISKS and str(unfinished) not in f"{error} {error.filename}":
            raise
        raise DataFileError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    finally:
        _remove(unfinished)


def _remove_left_behind(path: Path) -> None:
    """Remove temporary files and folders next to a path that dead processes of this machine left.

    Those of other machines are kept, and so is an old folder that has not been replaced.
    """
    if os.name != "posix":  # elsewhere a process cannot be looked up by its number alone
        return
    own = re.compile(rf"\.{re.escape(path.name)}\.{_machine()}-(\d+)-[0-9a-f]{{8}}\.(tmp|old)")
    with suppress(OSError):
        for beside in list(path.parent.iterdir()):
            found = own.fullmatch(beside.name)
            if found and not _runs(int(found[1])) and (found[2] == "tmp" or path.exists()):
                _remove(beside)


def _machine() -> str:
    """Return this machine's name in eight characters, since process numbers are only valid on their machine."""
    return f"{crc32(socket.gethostname().encode()):08x}"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # the process belongs to another user, or the number is invalid
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):  # it does not exist, or is now read-only
            path.unlink()
