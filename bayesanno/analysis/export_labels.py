"""Export of a fit's labels to annotation tools."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno._core.messages import DataError, DataFileError, NamesWarning, counted, listed, option, warn
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.view import FitView, part_of
from bayesanno.io.write import Labels, Tasks, find_writer, read_tasks, write_records
from bayesanno.modeling.arguments import require_latents


@dataclass(frozen=True)
class ExportedLabels:
    """How many labels were written, and why others were not.

    Attributes
    ----------
    n_items : int
        Labels that were written.
    n_known : int
        Written labels that are known to be true.
    n_unsure : int
        Labels left out because they are less probable than `min_probability`.
    n_without_task : int
        Labels left out because their items are not among the tasks.
    """

    n_items: int
    n_known: int
    n_unsure: int
    n_without_task: int


def export_labels(
    fit: xr.DataTree | FitView,
    path: str | os.PathLike[str],
    *,
    to: str,
    tasks: Any = None,
    item: str | None = None,
    question: str | None = None,
    to_name: str | None = None,
    agent: str | None = None,
    min_probability: float = 0.0,
    dimension: str | None = None,
    use_gold: bool = True,
    reading: Mapping[str, Any] | None = None,
) -> ExportedLabels:
    """Write each item's most probable label, with its probability as the score, in a format that a tool imports.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit. If it was recalibrated, the probabilities are the recalibrated ones.
    path : path
        The file to write; an existing one is replaced.
    to : {"label-studio", "argilla", "prodigy", "doccano"}
        The tool:

        * label-studio: JSON. With `tasks`, tasks with predictions, to import into a new project. Without, predictions
          for an existing project; items are named by the ids of its tasks.
        * argilla: JSON, records with suggestions, for `dataset.records.from_json`; records of known ids are updated.
        * prodigy: JSON Lines, tasks for the `choice` interface with the label already accepted.
        * doccano: JSON Lines, texts with their label; the probability is metadata.
    tasks : path, DataFrame or list of dict, optional
        What the tool shows for each item: the tool's own export, or a table with a column of items. Fields are kept;
        the answers of annotators are not. Required by argilla, prodigy and doccano.
    item : str, optional
        The field of the tasks that names the item, such as "data.ticket". The default is the tool's own field, such as
        the `id` of a task, or a column with one of the names that `read_annotations` knows.
    question : str, optional
        The name of the question in Argilla, or of the control in Label Studio (`from_name`). The default is the
        dimension, or else the only question that was answered in the tasks.
    to_name : str, optional
        Label Studio's name of the object that the control labels.
    agent : str, optional
        The source of the labels: the `model_version` in Label Studio, the agent in Argilla, the annotator in Prodigy.
        The default is "bayesanno" and the model.
    min_probability : float, default 0
        Items with a less probable label are left out.
    dimension : str, optional
        The dimension, for data with several dimensions.
    use_gold : bool, default True
        Whether items with a known true label get that label, with probability 1.
    reading : mapping, optional
        The options that the annotations were read with, such as `{"columns": "ada,bo", "gold": "expert"}`. If `tasks`
        is the table of the annotations, its columns of answers and known labels are left out: those that these options
        name, those found by their names, and those with the names of annotators.

    Returns
    -------
    ExportedLabels
        The counts: `n_items` and `n_known` of labels written; `n_unsure` and `n_without_task` of labels left out.

    Raises
    ------
    DataError
        If the tool is unknown, it lacks a name or the tasks, an option does not apply to it, the tasks cannot be read
        or contain none of the items, or no label reaches `min_probability`.
    DataFileError
        If the file cannot be written.
    FitError
        If the model gives item types instead of labels, or the fit has several dimensions and none is named.

    Warns
    -----
    NamesWarning
        If a gold label is not among the labels; its item gets the label of the fit.

    References
    ----------
    What the tools import: https://labelstud.io/guide/predictions, https://docs.argilla.io/latest/reference/argilla/records,
    https://prodi.gy/docs/api-interfaces#choice, https://doccano.github.io/doccano

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("mace", data, method="em", random_seed=1, progressbar=False)
    >>> texts = pd.DataFrame({"item": data.items, "text": [f"The text of {item}" for item in data.items]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ba.export_labels(fit, f"{folder}/labels.jsonl", to="doccano", tasks=texts, use_gold=False).n_items
    300
    """
    if question is None and to in ("label-studio", "argilla"):
        question = dimension
    options = {"question": question, "to_name": to_name, "tasks": tasks, "item": item, "agent": agent}
    tool = find_writer(to, options)
    if not 0 <= min_probability <= 1:
        raise DataError(f"min_probability is {min_probability}: it must be at least 0 and at most 1")
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise DataFileError(f"there is no folder {path.absolute().parent} to write {path.name} into")
    view = view_for_table(fit)
    people = getattr(view.named_data, "annotators", ())
    records = Tasks() if tasks is None else read_tasks(tasks, to, item, reading=reading, annotators=people)
    part = part_of(view, dimension)
    require_latents(view.model, view.data, "labels", "export_labels")
    probability, data = np.array(part.posterior.values), part.data
    known = data.known_codes if use_gold else np.full(len(probability), -1)
    if use_gold:
        _warn_of_strange_gold(data)
    probability[known >= 0] = np.eye(probability.shape[1])[known[known >= 0]]
    code, score = probability.argmax(axis=1), probability.max(axis=1).clip(max=1.0)  # of any rounding
    shown = np.array([tasks is None or item in records.by_item for item in data.items], dtype=bool)
    if not shown.any():
        _explain_none(to, data.items[0], records)
    sure = shown & (score >= min_probability)
    if not sure.any():
        raise DataError(
            f"no label is as probable as {min_probability}, the most probable one is {score[shown].max():.4g}: lower "
            f"{option('min_probability')}"
        )
    rows = np.flatnonzero(sure).tolist()
    labels = Labels(
        said=[(data.items[row], data.classes[code[row]], float(score[row])) for row in rows],
        classes=data.classes,
        agent=name_agent(view) if agent is None else agent,
        tasks=records,
        question=question,
        to_name=to_name,
    )
    write_records(tool.write(labels), path, lines=tool.lines)
    return ExportedLabels(
        n_items=len(rows),
        n_known=int((known[sure] >= 0).sum()),
        n_unsure=int(shown.sum()) - len(rows),
        n_without_task=int((~shown).sum()),
    )


def _warn_of_strange_gold(data: AnnotationData) -> None:
    """Warn of gold labels that are not among the labels; their items count as unknown."""
    codes = data.known_codes.tolist()
    strange = [item for item, code in zip(data.items, codes, strict=True) if code < 0 and item in data.gold]
    if strange:
        warn(
            f"{counted(len(strange), 'true label')} of {len(data.gold):,} cannot be exported, such as "
            f"{data.gold[strange[0]]!r} of item {strange[0]!r}, which is not among the labels {listed(data.classes)}: "
            "the fit's own label is exported",
            NamesWarning,
        )


def name_agent(view: FitView) -> str:
    """Return the name under which a tool shows the labels of a fit."""
    return f"bayesanno {view.model.name}{' recalibrated' if view.is_recalibrated else ''}"


def _explain_none(tool: str, item: str, tasks: Tasks) -> NoReturn:
    """Raise a DataError that explains why the tasks have none of the items; `item` is an example."""
    if item.rpartition(" / ")[0] in tasks.by_item:
        raise DataError(
            f"item {item!r} combines a task and one of its labels, as {option('multi_label', True)} makes them, but "
            f"{tool} takes one label per task: label_table(fit) has the labels of these"
        )
    named = next(iter(tasks.by_item))
    raise DataError(
        f"{tasks.name} has none of the items of this fit: {tasks.item!r} has names such as {named!r}, and the items "
        f"are called {item!r} and so on: name another field with {option('item')}"
    )
