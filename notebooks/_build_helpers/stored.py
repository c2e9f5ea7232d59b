"""The notebooks as they are stored: a gallery of them, and words for their pictures."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

from PIL import Image

import bayesanno as ba
from _build_helpers.models import write

ABOUT = """# Notebooks

In a hurry, read notebook 0. The other seventeen are lessons of nine to fifteen minutes, in the order of a course. All
are stored with their outputs, and run on a laptop. To teach with them: [a plan of ten sessions](../teaching.md).
"""
WIDTH = 480  # pixels of a thumbnail
LEGIBLE = 580  # pixels of the widest picture whose texts can still be read on a screen of 400
QUESTION = re.compile(r"\*\*The question\.\*\* (.+)", re.DOTALL)


def write_gallery(folder: Path) -> None:
    """Write the page that lists the notebooks, each with its first picture and its question."""
    (folder / "thumbs").mkdir(exist_ok=True)
    rows = [_read(path, folder) for path in sorted(folder.parent.glob("[0-9][0-9]-*.ipynb"))]
    write(folder / "tiles.md", _tiles(rows, pages="", thumbs="_generated/"))  # for the index page, to be included
    page = [ABOUT, _tiles(rows, pages="../", thumbs="")]
    page += ["```{toctree}", ":hidden:", "", *(f"../{stem}" for stem, _, _ in rows), "../teaching", "```", ""]
    write(folder / "notebooks.md", "\n".join(page))


def _read(path: Path, folder: Path) -> tuple[str, str, str]:
    """Keep a notebook's first picture as a thumbnail; give its name, its title and its question."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    title, _, text = "".join(cells[0]["source"]).partition("\n")
    thumb = folder / "thumbs" / f"{path.stem}.png"
    made = _thumbnail(_first_picture(cells))
    if not thumb.exists() or thumb.read_bytes() != made:
        thumb.write_bytes(made)
    return path.stem, title.lstrip("# "), _first_sentences(text)


def _tiles(rows: list[tuple[str, str, str]], *, pages: str, thumbs: str) -> str:
    """Write the gallery as it is on a page from which notebooks and thumbnails are reached by these prefixes."""
    tiles = [":::::{container} tiles"]
    for stem, title, question in rows:
        link = f"{pages}{stem}.ipynb"
        picture = f"[![First figure of notebook {title}]({thumbs}thumbs/{stem}.png)]({link})"
        tiles += ["::::{container} tile", picture, "", f"[{title}]({link})", "", question, "::::", ""]
    return "\n".join([*tiles, ":::::", ""])


def _first_picture(cells: list[dict[str, Any]]) -> bytes:
    for cell in cells:
        for picture in _pictures(cell):
            return picture
    raise ValueError("a notebook without a picture")


def _pictures(cell: dict[str, Any]) -> list[bytes]:
    shown = [output.get("data", {}) for output in cell.get("outputs", [])]
    return [base64.b64decode(one["image/png"]) for one in shown if "image/png" in one]


def _thumbnail(picture: bytes) -> bytes:
    """Make a picture small, on white, in few colours."""
    image = Image.open(io.BytesIO(picture)).convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    white.alpha_composite(image)
    small = white.convert("RGB")
    small.thumbnail((WIDTH, WIDTH * 4))
    out = io.BytesIO()
    small.quantize(64).save(out, "PNG", optimize=True)
    return out.getvalue()


def _first_sentences(text: str, most: int = 200) -> str:
    """Give the beginning of a notebook's question, whole sentences."""
    found = QUESTION.search(text)
    sentences = re.split(r"(?<=[.?!]) ", re.sub(r"\s+", " ", found[1] if found else text).strip())
    said = sentences[0]
    for sentence in sentences[1:]:
        if len(said) + len(sentence) > most:
            break
        said += f" {sentence}"
    return said


def dress(source: str) -> str:
    """Add alternative texts to the pictures of a stored notebook, and mark those that a narrow screen scrolls."""
    notebook = json.loads(source)
    heading = ""
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = (re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE) or [heading])[-1]
        elif pictures := _pictures(cell):
            options = {"alt": _words_for(text, heading)}
            if max(Image.open(io.BytesIO(picture)).width for picture in pictures) > LEGIBLE:
                options["classes"] = "wide"  # scrolls on a narrow screen: see site.css
            cell["metadata"].setdefault("mystnb", {}).setdefault("image", {}).update(options)
    return json.dumps(notebook)


def _words_for(code: str, heading: str) -> str:
    named = re.findall(r"\bba\.(?:report\.)?(plot_\w+)", code)
    drawn = [getattr(ba, name, getattr(ba.report, name, None)) for name in named]
    said = next(((plot.__doc__ or "").strip().partition("\n")[0] for plot in drawn if plot is not None), "")
    return f"Figure of the section “{heading}”" + (f": {said}" if said else "")
