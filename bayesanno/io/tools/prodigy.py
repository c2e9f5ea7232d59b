"""Prodigy: tasks of the interface `choice` with the label chosen, as JSON Lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bayesanno.io.tools.tool import Labels, Record, Tool, write_json_lines

# Fields of an answer, not of the task. Prodigy makes a new hash of the task, since its options may change.
OF_ANSWERS = ("accept", "answer", "label", "_task_hash", "_timestamp", "_session_id", "_annotator_id", "_view_id")


def write_prodigy(labels: Labels, path: Path) -> None:
    """Write the tasks, each with its labels as options, the label accepted, and its probability shown below."""
    tasks = labels.tasks
    of_fit = [{"id": label, "text": label} for label in labels.data.classes]

    def choose(task: Record, label: str, score: float) -> Record:
        options, meta = task.get("options"), task.get("meta")
        ids = {str(one.get("id")): one.get("id") for one in options or () if isinstance(one, Mapping)}
        if not ids.keys() >= {*labels.data.classes}:
            options, ids = of_fit, {}
        return {
            **{name: value for name, value in task.items() if name not in OF_ANSWERS},
            "options": options,
            "accept": [ids.get(label, label)],
            "score": score,
            "meta": {**(meta if isinstance(meta, Mapping) else {}), "probability": round(score, 3)},
            "answer": "accept",
            "_view_id": "choice",
            "_annotator_id": labels.agent,
            "_session_id": labels.agent,
        }

    write_json_lines((choose(tasks.first(item), label, score) for item, label, score in labels), path)


PRODIGY = Tool(
    "prodigy",
    write_prodigy,
    takes=("tasks", "item", "agent"),
    needs_tasks=True,
    item="_input_hash",
    shows=("text", "html", "image", "audio", "video"),
)
