"""A file or a folder is whole or not there."""

from pathlib import Path

import pytest

from bayesanno.ground.files import write_whole


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
    with pytest.raises(FileNotFoundError), write_whole(path):
        pass  # nothing was made
    assert names(tmp_path) == ["kept"]


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
