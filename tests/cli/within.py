"""The command line in this process, and what it leaves in a folder."""

import contextlib
import io
import sys
import warnings
from unittest import mock

from bayesanno.cli.app import main

LONG = "item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\n"


def run(folder, *arguments):
    """The command in this process: its exit code, stdout and stderr. Warnings are shown, as they are to users."""
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["bayesanno", *map(str, arguments)]),
    ):
        warnings.simplefilter("always")
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.getvalue(), err.getvalue()


def listing(folder):
    """Every file and folder, hidden ones too, with what is in it."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}
