"""The notebooks: they run from top to bottom, and what is stored in them is what a run gave."""

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9][0-9]-*.ipynb"))
SHORT = {"draws": 300, "tune": 300, "repeats": 2}  # what a notebook's parameters are in a short run
MOST_BYTES = 1_000_000
WORDS_A_MINUTE = 150  # with formulas, tables and figures between them
MINUTES = 15
HIDDEN = "remove-cell"  # the tag of cells that the site leaves out


@cache
def read(path):
    return nbformat.read(path, as_version=4)


def cells(notebook, kind):
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def shown_minutes(path):
    """How long a notebook takes to read, without the cells that the site leaves out."""
    shown = [cell.source for cell in read(path).cells if HIDDEN not in cell.metadata.get("tags", [])]
    return len("\n".join(shown).split()) / WORDS_A_MINUTE


def page_minutes(path, anchor):
    """How long a page takes to read, or what is between the heading with this anchor and the next heading."""
    text = path.read_text(encoding="utf-8")
    if anchor:
        heading = anchor.replace("-", " ")
        (text,) = re.findall(rf"^#+ {heading}\n(.*?)(?=^#+ )", text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    return len(text.split()) / WORDS_A_MINUTE


def test_there_are_notebooks():
    numbers = [int(path.name[:2]) for path in NOTEBOOKS]
    assert numbers == list(range(len(numbers)))
    assert numbers


def test_the_first_hour_of_the_front_page_takes_the_minutes_that_it_says():
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\d\. \[.+\]\(([\w.-]+)#?([\w-]*)\) \((\d+) minutes\)", index, re.MULTILINE)
    assert len(steps) == 4
    for file, anchor, said in steps:
        path = FOLDER / file
        minutes = shown_minutes(path) if path.suffix == ".ipynb" else page_minutes(path, anchor)
        assert abs(int(said) - minutes) < 1 + minutes / 10, file
    assert 30 < sum(int(said) for _, _, said in steps) < 60  # the rest is for a fit of one's own


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestStored:
    def test_each_exercise_and_its_answer_link_to_one_another(self, path):
        number, answers = int(path.name[:2]), (FOLDER / "answers.md").read_text(encoding="utf-8")
        title = cells(read(path), "markdown")[0].source.partition("\n")[0].lstrip("# ")
        (section,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", answers, flags=re.MULTILINE | re.DOTALL)
        _, *own = re.split(r"^### ", section, flags=re.MULTILINE)
        _, *exercises = re.split(r"^\d\. ", cells(read(path), "markdown")[-1].source, flags=re.MULTILINE)
        assert len(exercises) in (3, 4)
        places = range(1, len(exercises) + 1)
        assert [one.partition("\n")[0] for one in own] == [f"Notebook {number}, exercise {k}" for k in places]
        assert all(one.count(f"[Back to the exercise]({path.name}#exercises)\n") == 1 for one in own)
        links = [re.findall(r"\(\[Answer\]\(answers\.md#([\w-]+)\)\.\)$", one.strip()) for one in exercises]
        assert links == [[f"notebook-{number}-exercise-{k}"] for k in places]  # the anchors of these headings

    def test_it_was_run_from_top_to_bottom_and_asserts_its_headline_in_hidden_cells(self, path):
        code = cells(read(path), "code")
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
        assert "error" not in [output.output_type for cell in code for output in cell.outputs]
        asserting = [cell for cell in code if re.search(r"^assert ", cell.source, re.MULTILINE)]
        assert asserting
        assert all(HIDDEN in cell.metadata["tags"] for cell in asserting)
        shown = "\n".join(cell.source for cell in code if HIDDEN not in cell.metadata.get("tags", []))
        for line in re.findall(r"^(?:import|from) .+$", "\n".join(cell.source for cell in code), re.MULTILINE):
            assert line in shown or f"{line.split()[-1]}." not in shown
        imported = set(re.findall(r"(?:from|import) bayesanno[\w.]*", "\n".join(cell.source for cell in code)))
        assert imported <= {"import bayesanno", "from bayesanno.models"}

    def test_it_is_short_and_small_and_has_nothing_of_the_machine(self, path):
        text = path.read_text(encoding="utf-8")
        assert len(text) < MOST_BYTES
        assert re.search(r"/(home|root|work|tmp|Users)/", text) is None
        minutes = shown_minutes(path)
        assert minutes < MINUTES
        said = int(re.search(r"\*\*Reading time\.\*\* (\d+) minutes", read(path).cells[0].source)[1])
        assert abs(said - minutes) < 1
        teaching = (FOLDER / "teaching.md").read_text(encoding="utf-8")
        assert re.search(rf"\({re.escape(path.name)}\).* \| (\d+) \|\n", teaching)[1] == str(said)


@pytest.mark.notebooks
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path):
    """With the short settings of those of its parameters that have them."""
    import papermill

    known = papermill.inspect_notebook(path)
    parameters = {name: value for name, value in SHORT.items() if name in known}
    papermill.execute_notebook(path, tmp_path / path.name, parameters=parameters, progress_bar=False, cwd=tmp_path)
