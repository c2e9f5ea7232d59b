"""A model's card, which is the docstring of its file, as Markdown with headings, formulas and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from _build_helpers.formulas import GREEK, FormulaError, in_prose, to_aligned, to_latex

HEADINGS = {
    "Generative process": "Generative process",
    "Symbols, and priors": "Symbols, and priors",
    "Controls": "Controls",
    "Identifiability": "Identifiability",
    "Use": "When to use it, and when not",
    "References": "References",
}
OPENS = re.compile(rf"^(?:(Use)(?= when| to)|({'|'.join(HEADINGS)})(?: (\([^)]*\)))?(?:[.:](?: +|$)|(?<=process), ))")
DOI = re.compile(r"\bdoi:(10\.\d+/[^\s,;]+[^\s,;.:])")
ARXIV = re.compile(r"\barXiv:(\d+\.\d+)")
URL = re.compile(r"(?<![(\w/])(https?://[^\s,;]+[^\s,;.:])")
FAR = " " * 20  # what a line of symbols that goes on with the one above begins with
NEXT_REFERENCE = re.compile(r"^[A-Z]\. (?:[A-Z]\. )*[A-Z][\w-]+(?:,| and| \()")
OPTION = re.compile(
    rf"(?<![\w.`])(?!(?:{'|'.join([*GREEK, 'sum', 'prod'])})_)"
    r"(?:[a-z]{2,}\w*_\w+(?:\[\d\])?(?:=(?:\"[^\"]*\"|[\d.:]*\d))?|[a-z]{2,}=(?:\"[^\"]*\"|[\d.:]*\d))(?![\w(])"
)


@dataclass
class Section:
    """A part of a card: its heading, and its lines as they stand."""

    name: str
    lines: list[str] = field(default_factory=list)


def split_card(card: str) -> tuple[str, list[Section]]:
    """Part a card into its first line and its sections."""
    first, _, rest = card.strip().partition("\n")
    sections: list[Section] = []
    for line in rest.splitlines():
        opens = OPENS.match(line)
        if opens:
            sections.append(Section(opens[1] or opens[2]))
            line = line if opens[1] else _opening(opens[3], line[opens.end() :].strip())
        if sections:
            sections[-1].lines.append(line)
        elif line.strip():
            raise ValueError(f"a card's line that is in no section: {line!r}")
    return first, sections


def _opening(source: str | None, text: str) -> str:
    """Give what follows a heading, what stands in brackets there included, as a sentence."""
    inside = (source or "")[1:-1]
    if inside and not text:
        text = f"{inside}."
    elif inside:
        text = f"{inside}: {text}"
    return text if re.split(r"\W|_", text)[0] in GREEK else text[:1].upper() + text[1:]


def card_to_markdown(card: str) -> str:
    """Give the sections of a card, as Markdown."""
    parts = []
    for section in split_card(card)[1]:
        write = {
            "Symbols, and priors": _symbols_and_priors,
            "References": _references,
        }.get(section.name, _prose)
        parts += [f"## {HEADINGS[section.name]}", write(section.lines)]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Give prose in which nothing but code and formulas is marked up."""
    text = re.sub(r"\s+", " ", text.strip())
    parts = re.split(r"(`[^`]*`)", text)
    text = "".join(part if number % 2 else OPTION.sub(r"`\g<0>`", part) for number, part in enumerate(parts))
    pieces = re.split(r"(`[^`]*`|\$[^$]*\$)", in_prose(text))
    return "".join(
        piece if number % 2 else re.sub(r"([\\*_<>\[\]#|~])", r"\\\1", piece) for number, piece in enumerate(pieces)
    )


def _prose(lines: list[str]) -> str:
    """Write paragraphs, and indented blocks as formulas."""
    return "\n\n".join(_formula(own) if own[0].startswith("    ") else plain(" ".join(own)) for own in _blocks(lines))


def _blocks(lines: list[str]) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for line in lines:
        if not line.strip() or (blocks[-1] and line.startswith("    ") != blocks[-1][0].startswith("    ")):
            blocks.append([])
        if line.strip():
            blocks[-1].append(line)
    return [own for own in blocks if own]


def _formula(lines: list[str]) -> str:
    try:
        return "\n".join(["$$", to_aligned(lines), "$$"])
    except FormulaError:
        indent = min(len(line) - len(line.lstrip()) for line in lines)
        return "\n".join(["```text", *(line[indent:] for line in lines), "```"])


def _symbols_and_priors(lines: list[str]) -> str:
    """Write the table of symbols, which has the priors, and the prose before and after it."""
    parts = [_symbols(own) if own[0].startswith("    ") else plain(" ".join(own)) for own in _blocks(lines)]
    return "\n\n".join(parts)


def _symbols(lines: list[str]) -> str:
    """Write a table: the symbol, its name in the fit, and its dimensions or what it is.

    A line that is far to the right goes on with the row above.
    """
    rows = []
    for line in (line for line in lines if line.strip()):
        cells = [cell for cell in re.split(r"\s{2,}", line.strip()) if cell]
        if line.startswith(FAR) and rows:
            *own, before = rows[-1]
            rows[-1] = (*own, f"{before} {plain(' '.join(cells))}")
            continue
        symbol = cells.pop(0) if _is_symbol(cells[0]) and not line.startswith(" " * 6) else ""
        name = cells.pop(0) if cells and re.fullmatch(r"[a-z]\w*(?:_<\w+>)?", cells[0]) else ""
        rows.append((f"${to_latex(symbol)}$" if symbol else "", f"`{name}`" if name else "", plain("; ".join(cells))))
    used = [column for column in range(3) if any(row[column] for row in rows)]
    heads = ("symbol", "name in the fit", "dimensions, and what it is")
    table = [[heads[column] for column in used], ["---"] * len(used), *([row[c] for c in used] for row in rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in table)


def _is_symbol(cell: str) -> bool:
    try:
        latex = to_latex(cell)
    except FormulaError:
        return False
    return not re.search(r"\\(?:text|mathrm)", latex) and len(cell.split()) == 1


def _references(lines: list[str]) -> str:
    items: list[str] = []
    for line in (line.strip() for line in lines if line.strip()):
        if items and not (NEXT_REFERENCE.match(line) and items[-1].endswith((".", "html", "8", ";"))):
            items[-1] += f" {line}"
        else:
            items.append(line)
    return "\n".join(f"- {_linked(item)}" for item in items)


def _linked(text: str) -> str:
    links: list[str] = []

    def keep(shown: str, address: str) -> str:
        links.append(f"[{shown}]({address})")
        return f"\0{len(links) - 1}\0"

    text = DOI.sub(lambda match: keep(match[0], f"https://doi.org/{match[1]}"), text)
    text = ARXIV.sub(lambda match: keep(match[0], f"https://arxiv.org/abs/{match[1]}"), text)
    text = URL.sub(lambda match: keep(match[0].split("/")[2], match[0]), text)
    escaped = re.sub(r"([\\*_<>\[\]#|~])", r"\\\1", text)
    return re.sub(r"\0(\d+)\0", lambda match: links[int(match[1])], escaped)
