"""The documentation site: the notebooks as they are stored, the zoo's own cards, and the docstrings.

`uv run --group docs sphinx-build -W -b html notebooks build/site` builds it.
"""

import importlib.metadata
import sys
from pathlib import Path

import bayesanno
from bayesanno.modeling.registry import describe_models, model_class

project = "bayesanno"
author = "The bayesanno developers"
version = release = importlib.metadata.version("bayesanno")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "bayesanno"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": True, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"]}

nb_execution_mode = "off"  # what is stored was run: see tests/notebooks
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3  # headings that other pages may link to
suppress_warnings = ["mystnb.unknown_mime_type"]

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc has the types in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

GENERATED = Path(__file__).parent / "_generated"

GROUPS = {
    "Data in and out": ["data.", "io."],
    "Fitting": ["inference.", "fits.", "modeling."],
    "Tables: labels, annotators, types": ["analysis."],
    "Agreement and behaviour": ["agreement."],
    "Is the model any good, did the prior matter": ["criticism."],
    "Figures and the report": ["report."],
    "Made-up data": ["simulation."],
    "Errors and warnings": ["ground."],
}
MODULES = ("noise", "histograms", "experiments")  # of which each is a group of its own


def write_cards(folder: Path) -> None:
    """Write a page for each model of the zoo, its card as it stands in its file, and a page that lists them."""
    rows = ["| model | in one line |", "|---|---|"]
    names = []
    for row in describe_models():
        name = row["name"]
        card = (sys.modules[model_class(name).__module__].__doc__ or "").strip()
        first, _, rest = card.partition("\n")
        also = f"\n\nAlso called {row['aliases']}." if row["aliases"] else ""
        fields = "\n".join(f"- `{field}`" for field in row["fields"].split(", ") if field) or "- none"
        (folder / f"{name}.md").write_text(
            f"# {name}\n\n{first}{also}\n\nFields, with their defaults:\n\n{fields}\n\n```text\n{rest.strip()}\n```\n",
            encoding="utf-8",
        )
        rows.append(f"| [{name}]({name}.md) | {first.partition(': ')[2]} |")
        names.append(name)
    toc = ["```{toctree}", ":hidden:", "", *names, "```"]
    about = "Each model is one file that reads like a lesson; its card is here as it stands there."
    page = ["# The zoo", "", about, "", *rows, "", *toc, ""]
    (folder / "zoo.md").write_text("\n".join(page), encoding="utf-8")


def write_reference(folder: Path) -> None:
    """Write a page that lists all public names by what they are for."""
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in sorted(set(bayesanno.__all__) - {"models", *MODULES}):
        room = getattr(bayesanno, name).__module__.removeprefix("bayesanno.")
        groups[next(group for group, rooms in GROUPS.items() if room.startswith(tuple(rooms)))].append(name)
    parts = ["# Every public name\n\nThey are in `bayesanno`, imported as `ba`, and in three of its modules.\n"]
    for group, names in groups.items():
        parts += [f"## {group}", "", *_list_names("bayesanno", names)]
    for own in MODULES:
        module = getattr(bayesanno, own)
        parts += [f"## {module.__doc__.rstrip('.')}", "", *_list_names(module.__name__, sorted(module.__all__))]
    (folder / "reference.md").write_text("\n".join(parts), encoding="utf-8")


def _list_names(module: str, names: list[str]) -> list[str]:
    listed = [f"   {name}" for name in names]
    return [
        *("```{eval-rst}", f".. currentmodule:: {module}", ""),
        *(".. autosummary::", "   :toctree: .", "", *listed, "```", ""),
    ]


GENERATED.mkdir(exist_ok=True)
write_cards(GENERATED)
write_reference(GENERATED)
