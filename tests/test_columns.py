"""The columns that commands write are those that the guide explains, and the guide's tables are made of their data."""

import inspect
import sys
from pathlib import Path

import pytest

import bayesanno as ba
from tests import written

sys.path.insert(0, str(Path(__file__).parents[1] / "notebooks"))

from _build_helpers import columns

pytestmark = [
    pytest.mark.usefixtures("by_numpy"),
    pytest.mark.filterwarnings("ignore"),  # of so few draws
]
KNOWN = columns.read_columns()
WRITE = {"fit": written.write_fits, "agreement": written.write_agreements, "compare": written.write_comparisons}
AS_THEY_ARE = {"posterior.nc", "run.json", "report.html"}


def shown_in(about):
    """The names of the columns that a file's data explain."""
    return [name for names in about.get("columns", {}) for name in columns.names_of(names)]


def test_the_guide_s_tables_are_those_of_the_data():
    text = columns.GUIDE.read_text(encoding="utf-8")
    assert columns.fill_in(text) == text, "run: uv run python notebooks/_build_helpers/columns.py"


@pytest.mark.parametrize("command", WRITE)
def test_every_column_is_explained_and_every_explained_column_is_written(command, tmp_path):
    found = written.columns_of(WRITE[command](tmp_path))
    assert found.keys() == KNOWN[command].keys() - AS_THEY_ARE
    for file, names in found.items():
        shown = shown_in(KNOWN[command][file])
        assert not [name for name in names if not any(columns.matches(one, name) for one in shown)], file
        assert not [one for one in shown if not any(columns.matches(one, name) for name in names)], file


def test_the_docstrings_of_functions_name_the_same_columns():
    missing = []
    for file, about in KNOWN["fit"].items():
        for name in shown_in(about):
            (function,) = about["python"]
            doc = inspect.getdoc(getattr(ba, function)).replace("<label>", "...")
            cuts = [(name[:cut], name[cut:]) for cut in range(1, len(name))]
            if f"`{name}`" not in doc and not any(f"`{one}`" in doc and f"`{other}`" in doc for one, other in cuts):
                missing.append(f"{name} of {file} in {function}")
    assert not missing


def test_a_column_without_an_explanation_is_found():
    assert columns.matches("p[...]", "p[type 1]")
    assert columns.matches("competence_eti89_lb", "competence_hdi94.5_lb")
    assert not columns.matches("p[...]", "model_p[a]")
    assert not columns.matches("ci89_lb", "eti89_lb")
    assert columns.names_of("sd_mean, ...")[:3] == ["sd_mean", "sd_sd", "sd_eti89_lb"]
    with pytest.raises(ValueError, match="has no lines <!-- files of fit -->"):
        columns.fill_in("")
