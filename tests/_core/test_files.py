"""A file or a folder is whole or not there."""

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bayesanno._core.files import write_whole
from bayesanno._core.messages import DataFileError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_the_place_of_the_one_that_was_there(tmp_path):
    path = tmp_path / "told.txt"
    for text in ("once", "twice"):
        with write_whole(path) as unfinished:
            unfinished.write_text(text)
            assert unfinished.parent == tmp_path
            assert text == "once" or path.read_text() == "once"
        assert path.read_text() == text
    assert names(tmp_path) == ["told.txt"]


def test_a_folder_takes_the_place_of_one_with_other_files(tmp_path):
    path = tmp_path / "run"
    for name in ("old", "new"):
        with write_whole(path) as unfinished:
            unfinished.mkdir()
            (unfinished / name).touch()
    assert (names(tmp_path), names(path)) == (["run"], ["new"])


@pytest.mark.parametrize("of_folder", [False, True])
def test_what_fails_leaves_what_was_there_and_nothing_else(tmp_path, of_folder):
    path = tmp_path / "kept"
    path.mkdir() if of_folder else path.touch()
    with pytest.raises(KeyboardInterrupt), write_whole(path) as unfinished:  # noqa: PT012 -- what is made before it
        unfinished.mkdir() if of_folder else unfinished.touch()
        raise KeyboardInterrupt
    assert names(tmp_path) == ["kept"]
    with pytest.raises(DataFileError, match="kept' cannot be written: No such file"), write_whole(path):
        pass  # nothing was made
    assert names(tmp_path) == ["kept"]


def test_a_read_only_disk_is_one_line_where_even_removing_is_refused(tmp_path, refuses, monkeypatch):
    def refuse(self, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    for what in ("mkdir", "unlink", "write_text"):
        monkeypatch.setattr(Path, what, refuse)
    for write in (Path.mkdir, lambda path: path.write_text("all of it")):
        with refuses(DataFileError, "x' cannot be written: Read-only"), write_whole(tmp_path / "x") as unfinished:
            write(unfinished)


def test_a_file_takes_no_folder_s_place(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").touch()
    with pytest.raises(OSError, match="run"), write_whole(tmp_path / "run") as unfinished:
        unfinished.touch()
    assert names(tmp_path) == ["run"]
    assert names(tmp_path / "run") == ["notes.txt"]


def test_a_folder_that_cannot_take_the_place_leaves_the_old_one(tmp_path, monkeypatch):
    path, rename = tmp_path / "run", Path.replace
    with write_whole(path) as unfinished:
        unfinished.mkdir()
        (unfinished / "old").touch()

    def refuse(self, target):
        if self.suffix == ".tmp":
            raise OSError("the disk is full")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="the disk is full"), write_whole(path) as unfinished:
        unfinished.mkdir()
    assert (names(tmp_path), names(path)) == (["run"], ["old"])


def test_a_folder_in_use_stays_and_what_was_made_is_kept_beside_it(tmp_path, monkeypatch, refuses):
    path, rename = tmp_path / "run", Path.replace
    with write_whole(path) as unfinished:
        unfinished.mkdir()
        (unfinished / "old").touch()

    def refuse(self, target):  # as Windows does while a file in the folder is open
        if self == path:
            raise PermissionError(errno.EACCES, "Access is denied", str(self), str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with refuses(DataFileError, "run' cannot be replaced: .*what was made is in") as caught, write_whole(path) as made:
        made.mkdir()
        (made / "new").touch()
    kept = Path(str(caught.value).split("'")[-2])
    assert {path.name, kept.name} == set(names(tmp_path))
    assert (names(path), names(kept)) == (["old"], ["new"])


WRITE = """
import sys, time
from pathlib import Path
from bayesanno._core.files import write_whole
with write_whole(Path(sys.argv[1])) as unfinished:
    unfinished.mkdir()
    Path(unfinished, "half").touch()
    print("written", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writing(tmp_path):
    """A process that is writing the folder `run`."""
    process = subprocess.Popen([sys.executable, "-c", WRITE, tmp_path / "run"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "written\n"
    yield process
    process.kill()
    process.communicate()


def write_folder(path):
    with write_whole(path) as unfinished:
        unfinished.mkdir()


@pytest.mark.skipif(os.name != "posix", reason="a process cannot be asked for by its number")
def test_the_next_writer_removes_what_a_killed_process_left(tmp_path, writing):
    (left,) = names(tmp_path)
    assert left.startswith(".run.")
    assert left.endswith(".tmp")
    write_folder(tmp_path / "run")
    assert names(tmp_path) == [left, "run"], "of a process that runs"
    writing.send_signal(signal.SIGKILL)
    writing.wait()
    elsewhere = re.sub(r"^.run.\w+-", ".run.00000000-", left)
    another = left.replace(".run", ".run.json")
    for name in (elsewhere, another):
        (tmp_path / name).touch()
    write_folder(tmp_path / "other")
    assert left in names(tmp_path), "of another path"
    write_folder(tmp_path / "run")
    assert names(tmp_path) == sorted([elsewhere, another, "other", "run"])


@pytest.mark.skipif(os.name != "posix", reason="a process cannot be asked for by its number")
def test_a_folder_that_was_being_replaced_is_kept_until_another_is_there(tmp_path, writing):
    (left,) = names(tmp_path)
    writing.kill()
    writing.wait()
    old = left.replace(".tmp", ".old")
    (tmp_path / left).rename(tmp_path / old)
    write_folder(tmp_path / "run")
    assert names(tmp_path) == [old, "run"]
    write_folder(tmp_path / "run")
    assert names(tmp_path) == ["run"]
