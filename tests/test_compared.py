"""The page that compares models: it has every model of true labels, and its program prints what stands below it."""

import io
import re
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import pandas as pd
import pytest

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
sys.path.insert(0, str(NOTEBOOKS))

from _build_helpers.models import GROUPS  # noqa: E402

PAGE = (NOTEBOOKS / "benchmarks.md").read_text(encoding="utf-8")
CODE, PRINTED = re.search(r"```python\n(import time.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL).groups()
SCORES = ["accuracy", "log_score"]


def read_printed(text):
    """What the program prints, without its times, by table and model."""
    table = pd.read_fwf(io.StringIO(text), index_col=["data", "model"], widths=widths_of(text))
    return table[["method", *SCORES]]


def widths_of(text):
    """The widths of columns that end where their names end."""
    ends = [match.end() for match in re.finditer(r"\S+", text.splitlines()[0])]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def test_every_model_of_true_labels_is_compared():
    models = {"vote", *GROUPS["True labels, and annotators"]} - {"model_a_multi"}  # which takes several columns
    printed = read_printed(PRINTED)
    assert set(printed.index) == {(data, model) for data in ("@crowd", "@judges") for model in models}
    assert printed.loc[printed["method"].notna(), SCORES].notna().all(axis=None)


@pytest.mark.notebooks
def test_the_program_prints_what_stands_below_it():
    by_vb = re.sub(r"^by_nuts = .*$", "by_nuts = []", CODE, flags=re.MULTILINE)  # others take minutes
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()) as out:
        warnings.simplefilter("ignore")  # the page says that fits warn
        exec(by_vb, {})
    again = read_printed(out.getvalue())
    pd.testing.assert_frame_equal(again, read_printed(PRINTED).loc[again.index], atol=0.0011, rtol=0)
