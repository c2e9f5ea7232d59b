"""The README and the guides: Python that compiles and names what exists, commands that are commands, links that lead.

What the code and the commands do is tested where that is; here, that the pages do not fall behind.
"""

import ast
import json
import re
import shlex
from pathlib import Path

import pytest
import typer

import bayesanno as ba
from bayesanno.cli.app import app

ROOT = Path(__file__).parents[1]
OF_SITE = ("index", "guide", "which-model", "benchmarks", "teaching", "own-models", "cite", "answers")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "notebooks" / f"{name}.md" for name in OF_SITE)]
HEROES = ["pip install uv && uv run bayesanno fit mace @crowd --out crowd", "pip install uv && uv run pytest"]


@pytest.fixture(params=PAGES, ids=lambda page: page.stem)
def page(request):
    return request.param


def text_of(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def anchors_of(page):
    """What a heading is linked by: lower case, without punctuation, hyphens for spaces."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_two_commands_stand_in_the_readme():
    assert re.findall(r"^    (pip install uv && .*)$", text_of(ROOT / "README.md"), re.MULTILINE) == HEROES


def test_python_compiles_and_names_what_exists(page):
    for block in re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL):
        ast.parse(block)
    for name in re.findall(r"\bba\.(\w+)", text_of(page)):
        assert name in ba.__all__, name
    for name in re.findall(r"\bba\.models\.(\w+)", text_of(page)):
        assert name in dir(ba.models), name


def test_commands_have_the_options_that_they_are_given(page):
    group = typer.main.get_command(app)
    commands = re.findall(r"^    (?:.*&& )?(?:uv run )?bayesanno (.*)$", text_of(page), re.MULTILINE)
    for line in commands:
        name, *arguments = shlex.split(line)
        command = group.commands[name]
        context = command.context_class(command)
        command.make_parser(context).parse_args(arguments)


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "notebooks").glob("*.ipynb"))], ids=lambda page: page.stem)
def test_links_to_files_and_headings_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text_of(page)):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_the_page_of_advice_leads_to_the_card_of_every_model():
    page = text_of(ROOT / "notebooks" / "which-model.md")
    assert set(re.findall(r"\]\(\.\./models/(\w+)\.py\)", page)) == set(ba.list_models()["name"])
