"""Files of fits: whole or as they were, and readable by whom the umask says."""

import ast
import io
import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
import xarray as xr

import bayesanno as ba
from bayesanno._core.messages import FitError
from bayesanno.cli.files import new_folder, write_fit
from bayesanno.fits.view import view_of
from bayesanno.io.write import write_table

TREE = xr.DataTree.from_dict({"posterior": xr.Dataset({"x": ("draw", [1.0, 2.0])})})


@contextmanager
def umask(mode):
    before = os.umask(mode)
    try:
        yield
    finally:
        os.umask(before)


def modes(*paths):
    return [oct(path.stat().st_mode & 0o777) for path in paths]


@pytest.mark.parametrize("mode", [0o022, 0o077])
def test_files_and_folders_have_the_mode_that_the_umask_gives(mode, tiny_fit, tmp_path):
    run = tmp_path / "run"
    with umask(mode):
        (tmp_path / "file").write_text("made by open()")
        (tmp_path / "folder").mkdir()
        ba.save(TREE, tmp_path / "fit.nc")
        ba.save(TREE, tmp_path / "fit.nc", overwrite=True)  # in the place of another
        write_table(view_of(tiny_fit).data.to_frame(), tmp_path / "data.csv")
        with new_folder(run) as folder:
            write_fit(tiny_fit, folder, coverage=None, began=0.0)
    file, folder = modes(tmp_path / "file", tmp_path / "folder")
    assert (file, folder) == (oct(0o666 & ~mode), oct(0o777 & ~mode))
    assert modes(tmp_path / "fit.nc", tmp_path / "data.csv") == [file, file]
    assert modes(run) == [folder]
    assert set(modes(*run.iterdir())) == {file}
    assert len(list(run.iterdir())) == 5


def test_a_file_has_the_bytes_that_xarray_writes(tiny_fit, tmp_path):
    for tree in (TREE, tiny_fit, tiny_fit.chunk()):
        ba.save(tree, tmp_path / "fit.nc", overwrite=True)
        assert (tmp_path / "fit.nc").read_bytes() == tree.compute().to_netcdf(engine="h5netcdf")


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_fit_that_cannot_be_written_leaves_the_old_one_as_it_was(error, tmp_path, monkeypatch):
    path = tmp_path / "posterior.nc"
    ba.save(TREE, path)
    before = path.read_bytes()
    written = []

    class Full(io.FileIO):
        def write(self, content):
            super().write(b"half of a fit" if len(content) > 100 else content)
            written.append(self.name)
            raise error("no space left on device")

    monkeypatch.setattr(Path, "open", lambda self, mode: Full(self, mode))
    with pytest.raises(error, match="no space left"):
        ba.save(TREE, path, overwrite=True)
    assert len(written) == 1
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(error, match="no space left"):
        ba.save(TREE, tmp_path / "new.nc")
    assert list(tmp_path.iterdir()) == [path]


def test_what_this_version_cannot_read_or_is_not_whole_is_refused(tiny_fit, tmp_path, refuses):
    newer, incomplete = tiny_fit.copy(), tiny_fit.copy()
    newer.attrs["versions"] = json.dumps(json.loads(newer.attrs["versions"]) | {"bayesanno": "99.1"})
    incomplete["constant_data"] = incomplete["constant_data"].to_dataset().drop_vars("annotation_annotator")
    for fit, match in ((newer, "written by bayesanno 99.1"), (incomplete, "No variable named 'annotation_annotator'")):
        ba.save(fit, tmp_path / "fit.nc", overwrite=True)
        with refuses(FitError, match):
            ba.label_table(ba.load(tmp_path / "fit.nc"))


def test_text_is_written_with_the_same_ends_of_lines_on_every_system():
    for path in Path(ba.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("write_text", "to_csv"):
                assert {"newline", "lineterminator"} & {one.arg for one in node.keywords}, path
