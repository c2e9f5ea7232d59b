"""doccano: texts with their label, as JSON Lines."""

from __future__ import annotations

from pathlib import Path

from bayesanno.io.tools.tool import Labels, Tool, write_json_lines

OF_ANSWERS = ("label", "labels", "cats", "Comments")


def write_doccano(labels: Labels, path: Path) -> None:
    """Write the texts with their labels; doccano shows the other fields of a record as metadata."""
    tasks = labels.tasks
    write_json_lines(
        (
            {
                **{name: value for name, value in tasks.first(item).items() if name not in OF_ANSWERS},
                "label": [label],
                "probability": score,
                "labelled_by": labels.agent,
            }
            for item, label, score in labels
        ),
        path,
    )


DOCCANO = Tool("doccano", write_doccano, takes=("tasks", "item", "agent"), needs_tasks=True, shows=("text", "data"))
