"""A console, or a pipe, that lacks the letters of a name: it is shown by their numbers, and nothing fails."""

import os
import subprocess

from tests.samples import COMMAND

ANSWERS = """item,annotator,label
s1,żółw,שלום
s1,bob ×,שלום
s1,🙂,no
s2,żółw,no
s2,bob ×,שלום
s2,🙂,no
"""


def test_names_beyond_a_console_s_letters_are_shown(tmp_path):
    (tmp_path / "answers.csv").write_text(ANSWERS, encoding="utf-8")
    done = subprocess.run(
        [COMMAND, *["agreement", "answers.csv", "--no-plots", "--out", "run"]],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "שלום".encode("cp1252", "backslashreplace") in done.stdout
