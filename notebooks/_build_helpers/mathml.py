"""Formulas as MathML, which browsers show by themselves: no script, no font, no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)

# a cell that opens with \quad is a remark
REMARK = re.compile(r"<mtd>\s*<mspace width=\"1em\"></mspace>((?:(?!</mtd>).)*)</mtd>", re.DOTALL)

ROW = re.compile(r"<mtr>.*?</mtr>", re.DOTALL)


def _convert(writer: Any, node: nodes.Node, *, as_block: bool) -> str:
    try:
        shown = REMARK.sub(_wrap, tex2mathml(node.astext(), as_block=as_block))
        return ROW.sub(_widen, shown) if 'class="remark"' in shown else shown
    except (SyntaxError, KeyError, ValueError) as problem:  # docutils' MathError is a ValueError
        logger.warning("a formula that cannot be shown: %s (%s)", node.astext(), problem, location=node)
        return f"<code>{writer.encode(node.astext())}</code>"


def _wrap(match: re.Match[str]) -> str:
    """Write a remark beside a formula as text that may be wrapped, with formulas in it."""
    pieces = re.split(r"<mtext>(.*?)</mtext>", match[1], flags=re.DOTALL)
    shown = [
        piece.replace("\u00a0", " ") if number % 2 else f"<math>{piece.strip()}</math>"
        for number, piece in enumerate(pieces)
        if piece.strip()
    ]
    return f'<mtd><mtext><span class="remark">{"".join(shown)}</span></mtext></mtd>'


def _widen(match: re.Match[str]) -> str:
    """Let what has no remark use the space of one."""
    cells = match[0].split("<mtd>")
    return '<mtd columnspan="2">'.join(["<mtd>".join(cells[:2]), cells[2]]) if len(cells) == 3 else match[0]


def show_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    writer.body.append(_convert(writer, node, as_block=False))
    raise nodes.SkipNode


def show_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula that stands alone; where it is wider than the page it scrolls."""
    writer.body.append(f'<div class="math" tabindex="0">{_convert(writer, node, as_block=True)}</div>')
    raise nodes.SkipNode
