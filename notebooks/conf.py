"""The documentation site: the notebooks as they are stored, the models' own cards, and the docstrings.

`uv run --group docs sphinx-build -W -b html notebooks build/site` builds it. Nothing in it needs a network to be read.
"""

import importlib.metadata
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from _build_helpers import mathml
from _build_helpers.findings import write_findings
from _build_helpers.models import write, write_models
from _build_helpers.stored import dress, write_gallery

import bayesanno

project = "bayesanno"
author = "The bayesanno developers"
version = release = importlib.metadata.version("bayesanno")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_copybutton"]
templates_path = ["_build_helpers/templates"]  # pages of names have the name alone as their title
exclude_patterns = ["_build", "_build_helpers", "_generated/tiles.md"]

html_theme = "pydata_sphinx_theme"
html_title = "bayesanno"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_sidebars = {"index": [], "guide": [], "cite": [], "answers": []}
html_theme_options = {
    "logo": {"text": f"bayesanno {version}"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
project_copyright = f"{author}; version {version}"

nb_execution_mode = "off"  # what is stored was run: see tests/notebooks
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3  # headings that other pages may link to
suppress_warnings = ["mystnb.unknown_mime_type"]
copybutton_exclude = ".linenos, .gp, .go"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc has the types in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

GENERATED = Path(__file__).parent / "_generated"

GROUPS = {
    "Data in and out": ["data.", "io."],
    "Fitting": ["inference.", "fits.", "modeling."],
    "Tables: labels, annotators, types": ["analysis."],
    "What to ask next, and when to stop": ["planning."],
    "Agreement and behaviour": ["agreement."],
    "Is the model any good, did the prior matter": ["criticism."],
    "Figures and the report": ["report."],
    "Made-up data": ["simulation."],
    "Errors and warnings": ["_core."],
}
MODULES = (  # of which each is a group of its own
    "agreement", "analysis", "criticism", "inference", "modeling", "report", "simulation",
    "errors", "histograms", "noise", "shapes",
)  # fmt: skip


def write_reference(folder: Path) -> None:
    """Write a page that lists all public names by what they are for."""
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in sorted(set(bayesanno.__all__) - {"models", *MODULES}):
        room = getattr(bayesanno, name).__module__.removeprefix("bayesanno.")
        groups[next(group for group, rooms in GROUPS.items() if room.startswith(tuple(rooms)))].append(name)
    parts = ["# Every public name\n\nThey are in `bayesanno`, imported as `ba`, and in modules of it."]
    parts += ["What a fit holds: [what is in a fit](../schema.md). What is found of it: [findings](findings.md)."]
    parts += ["Words: [the glossary](../glossary.md). Models: [what their methods get](../own-models.md).\n"]
    parts += [
        "```{toctree}",
        ":hidden:",
        "",
        "findings",
        "../schema",
        "../glossary",
        "../own-models",
        "../cite",
        "```",
        "",
    ]
    for group, names in groups.items():
        parts += [f"## {group}", "", *_list_names("bayesanno", names)]
    for own in MODULES:
        module = getattr(bayesanno, own)
        title = module.__doc__.partition("\n")[0].rstrip(".")
        parts += [f"## {title}", "", *_list_names(module.__name__, sorted({*module.__all__} - {*bayesanno.__all__}))]
    write(folder / "reference.md", "\n".join(parts))


def _list_names(module: str, names: list[str]) -> list[str]:
    listed = [f"   {name}" for name in names]
    return [
        *("```{eval-rst}", f".. currentmodule:: {module}", ""),
        *(".. autosummary::", "   :toctree: .", "", *listed, "```", ""),
    ]


def dress_page(app, name, source):
    """Give a notebook's pictures words, its exercises the way to their answers, and models their pages."""
    if app.env.doc2path(name).suffix == ".ipynb":
        source[0] = dress(source[0])
    else:
        source[0] = re.sub(r"\]\(\.\./models/(\w+)\.py\)", r"](_generated/\1.md)", source[0])


def setup(app):
    """Join what is made here to the build."""
    app.add_html_math_renderer("mathml", (mathml.show_inline, None), (mathml.show_block, None))
    app.connect("source-read", dress_page)


GENERATED.mkdir(exist_ok=True)
write_models(GENERATED)
write_gallery(GENERATED)
write_findings(GENERATED)
write_reference(GENERATED)
