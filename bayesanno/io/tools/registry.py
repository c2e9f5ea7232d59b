"""The tools that labels are exported to."""

from __future__ import annotations

from bayesanno.ground.errors import DataError
from bayesanno.ground.wording import listed, nearest
from bayesanno.io.tools.argilla import ARGILLA
from bayesanno.io.tools.cleanlab import CLEANLAB
from bayesanno.io.tools.doccano import DOCCANO
from bayesanno.io.tools.label_studio import LABEL_STUDIO
from bayesanno.io.tools.prodigy import PRODIGY
from bayesanno.io.tools.soft_labels import SOFT_LABELS
from bayesanno.io.tools.tool import Tool

TOOLS = {each.name: each for each in (LABEL_STUDIO, ARGILLA, PRODIGY, DOCCANO, CLEANLAB, SOFT_LABELS)}
TOOL_NAMES = tuple(TOOLS)


def find_tool(name: str) -> Tool:
    """Return the tool of this name.

    Raises
    ------
    DataError
        If there is none.
    """
    if name not in TOOLS:
        raise DataError(
            f"labels cannot be exported to {name!r}: there are {listed(TOOL_NAMES)}{nearest(str(name), TOOL_NAMES)}"
        )
    return TOOLS[name]
