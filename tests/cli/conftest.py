"""The command line in this process."""

import sys
import warnings

import pytest

from bayesanno.cli import app as cli


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run the command in this process, in an empty folder; returns the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main() replaces it

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["bayesanno", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        return code, *capsys.readouterr()

    return run
