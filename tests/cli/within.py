"""The command line within this process, in any folder: for fixtures of a module; `command` is for a test's own."""

import contextlib
import io
import sys
import warnings
from unittest import mock

from bayesanno.cli.app import main


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
