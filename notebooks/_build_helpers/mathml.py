"""Formulas as MathML, which browsers show by themselves: no script, no font, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _convert(writer: Any, node: nodes.Node, *, as_block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except (SyntaxError, KeyError, ValueError) as problem:  # docutils' MathError is a ValueError
        logger.warning("a formula that cannot be shown: %s (%s)", node.astext(), problem, location=node)
        return f"<code>{writer.encode(node.astext())}</code>"


def show_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    writer.body.append(_convert(writer, node, as_block=False))
    raise nodes.SkipNode


def show_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula that stands alone; where it is wider than the page it scrolls."""
    writer.body.append(f'<div class="math" tabindex="0">{_convert(writer, node, as_block=True)}</div>')
    raise nodes.SkipNode
