"""A page for each model, from its card, and a page that lists them."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path

import matplotlib as mpl

import bayesanno as ba
from _build_helpers.cards import card_to_markdown, plain, split_card
from bayesanno.modeling.registry import describe_models, model_class

CROWD = 'data = ba.read_annotations("@crowd")'
COUNTED = 'data = ba.CountData.from_annotations(ba.read_annotations("@crowd"), positive="billing")'
DATA = {  # what a model is fitted to, where it is not the answers of a crowd as they stand
    "binomial_mixture": COUNTED,
    "diligent_lazy": COUNTED,
    "diligent_lazy_annotators": 'data = ba.read_annotations("@crowd").binarise(positive="billing")',
    "gaussian_mixture": (
        "design = ba.simulation.make_count_design(items=200, per_item=10)\n"
        'data, truth = ba.simulate("binomial_mixture", design, random_seed=1)'
    ),
    "model_a": 'data = ba.read_annotations("@table15")',
    "rating": (
        "scores = [str(score) for score in range(0, 101, 10)]\n"
        "design = ba.make_design(items=60, annotators=8, labels=scores, per_item=4, random_seed=1)\n"
        'marked, truth = ba.simulate("ordinal_dawid_skene", design, random_seed=1)\n'
        "data = ba.read_ratings(marked.to_frame(), scale=(0, 100))"
    ),
    "model_a_multi": (
        "one = ba.simulation.make_loop_design(items=300, annotators=3, together=3, labels=3)\n"
        'design = ba.MultiAnnotationData(by_dimension={"evidence": one, "focus": one})\n'
        'data, truth = ba.simulate("model_a_multi", design, random_seed=1)'
    ),
}
GROUPS = {
    "True labels, and annotators": [
        *("model_b", "mace", "hierarchical_dawid_skene", "pooled_dawid_skene", "class_conditional", "one_coin"),
        *("item_difficulty", "shared_errors", "ordinal_dawid_skene", "model_a", "model_a_multi"),
    ],
    "Values on a scale": ["rating"],
    "Types of items": [
        *("easy_hard", "binomial_mixture", "gaussian_mixture", "diligent_lazy", "diligent_lazy_annotators"),
    ],
    "What annotators do with labels": ["label_usage"],
}


ABOUT = """# Models

Each model is one file that reads like a lesson, and opens with a card: what an annotator does, the formulas, the priors
and what they imply, when to use it and when not. The pages below show the cards.
[Which model for my data](../which-model.md) helps to choose, and [benchmarks](../benchmarks.md) compares them.
"""
CAPTION = (
    "A box is a parameter with its prior; dashed is what is summed out, shaded what is observed. "
    "What is on a plate is there once for each item, or each annotator."
)


def card_of(name: str) -> str:
    """Give the card of a model: the docstring of its file."""
    return (sys.modules[model_class(name).__module__].__doc__ or "").strip()


def example(name: str) -> str:
    """Give the lines of code that fit a model to data that ship with the package, or are simulated."""
    return f'{DATA.get(name, CROWD)}\nfit = ba.fit("{name}", data, random_seed=1)'


def write_models(folder: Path) -> None:
    """Write a page for each model of the zoo, and one that lists all of them."""
    known = {row["name"]: row for row in describe_models()}
    listed = [name for names in GROUPS.values() for name in names]
    groups = {**GROUPS, "More": [name for name in known if name not in listed]}
    used = _used_in(folder.parent)
    page = [ABOUT]
    for group, names in groups.items():
        if names:
            page += [f"## {group}", "", "| model | in one line |", "|---|---|"]
            page += [f"| [{_title(name)[0]}]({name}.md)<br>`{name}` | {plain(_title(name)[1])} |" for name in names]
            page += [""]
    names = [name for group in groups.values() for name in group]
    toc = ["../which-model", "../benchmarks", *names, "../printed-numbers"]
    page += ["```{toctree}", ":hidden:", "", *toc, "```", ""]
    write(folder / "zoo.md", "\n".join(page))
    for name in names:
        write(folder / f"{name}.md", _page(name, known, used.get(name, []), folder))


def write(path: Path, text: str) -> None:
    """Write a page if it is another one than before, so that the next build reads what changed alone."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _title(name: str) -> tuple[str, str]:
    head, _, tail = split_card(card_of(name))[0].partition(": ")
    return head, tail[:1].upper() + tail[1:]


def _page(name: str, known: dict[str, dict[str, str]], used: list[tuple[str, str]], folder: Path) -> str:
    head, tail = _title(name)
    aliases = f", also called `{known[name]['aliases']}`" if known[name]["aliases"] else ""
    where = ", ".join(f"[{title}](../{path})" for path, title in used)
    file = Path(inspect.getfile(model_class(name))).name
    source = (folder.parents[1] / "models" / file).read_text(encoding="utf-8")
    after = source[: source.index('"""', 3)].count("\n") + 3
    fields = [f"- `{field}`" for field in known[name]["fields"].split(", ") if field] or ["- none"]
    plates = _plates(name, folder)
    parts = [
        f"# {head}",
        plain(tail),
        f"Its name is `{name}`{aliases}." + (f" Used in {where}." if where else ""),
        f"```python\nimport bayesanno as ba\n\n{example(name)}\n```",
        f"```{{figure}} {plates}\n:alt: Plate diagram of {head}: its parameters, its latent states and the answers\n\n"
        f"{CAPTION}\n```",
        _link_models(card_to_markdown(card_of(name)), set(known) - {name}),
        "## Settings\n\nThe fields of the model, with their defaults:\n\n" + "\n".join(fields),
        f"## The file\n\n`models/{file}`, below its card:\n\n"
        f"```{{literalinclude}} ../../models/{file}\n:language: python\n:lines: {after}-\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _link_models(text: str, others: set[str]) -> str:
    parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)
    pattern = re.compile(rf"(?<!\[)`({'|'.join(sorted(others, key=len, reverse=True))})`")
    return "".join(part if number % 2 else pattern.sub(r"[`\1`](\1.md)", part) for number, part in enumerate(parts))


def _plates(name: str, folder: Path) -> str:
    """Draw the plate diagram, unless it was drawn since the model and what draws it last changed."""
    path = folder / "plates" / f"{name}.svg"
    path.parent.mkdir(exist_ok=True)
    sources = [Path(inspect.getfile(model_class(name))), Path(inspect.getfile(inspect.unwrap(ba.plot_plates)))]
    if not path.exists() or path.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
            ba.plot_plates(name).savefig(path, metadata={"Date": None}, bbox_inches="tight")
    return f"plates/{name}.svg"


def _used_in(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Find the notebooks whose code names a model, or its class; those that name it most come first, three at most."""
    counts: dict[str, list[tuple[int, str, str]]] = {}
    names = {row["name"]: model_class(row["name"]).__name__ for row in describe_models()}
    for path in sorted(folder.glob("[0-9][0-9]-*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        title = "".join(cells[0]["source"]).partition("\n")[0].lstrip("# ")
        for name, class_name in names.items():
            found = len(re.findall(rf"\"{name}\"|\b{class_name}\(", code))
            if found:
                counts.setdefault(name, []).append((-found, path.name, title))
    return {name: sorted((path, title) for _, path, title in sorted(rows)[:3]) for name, rows in counts.items()}
