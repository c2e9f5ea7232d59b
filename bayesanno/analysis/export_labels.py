"""The labels of a fit given back to the tool in which people annotate, or to a learner."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bayesanno.analysis.caution import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.parts import part_of
from bayesanno.fits.view import FitView
from bayesanno.ground.errors import DataError, DataFileError, FitError, NamesWarning, warn
from bayesanno.ground.lazy import xr
from bayesanno.ground.wording import counted, listed
from bayesanno.io.tools.tool import Labels, Tasks, Tool, ToolOptions, find_tool


@dataclass(frozen=True)
class ExportedLabels:
    """How many labels were written, and why others were not.

    Attributes
    ----------
    n_items : int
        The labels that were written.
    n_known : int
        Those of them that are known to be true.
    n_unsure : int
        Those that are less probable than asked for.
    n_without_task : int
        Those of items that the tasks do not have.
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
) -> ExportedLabels:
    """Write each item's most probable label, with its probability as the score, in a form that a tool imports.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        Of a recalibrated fit the probabilities are the recalibrated ones.
    path : path
        The file to write, or for cleanlab the folder. What is there is replaced.
    to : {"label-studio", "argilla", "prodigy", "doccano", "cleanlab", "soft-labels"}
        The tool:

        * label-studio: JSON. With `tasks`, tasks with predictions, to import into a new project; without, predictions
          for the tasks of a project, which the items are the ids of.
        * argilla: JSON, records with suggestions, for `dataset.records.from_json`; records of known ids are updated.
        * prodigy: JSON Lines, tasks of the interface `choice` whose label is accepted already.
        * doccano: JSON Lines, texts with their label; the probability is metadata.
        * cleanlab: a folder with `pred_probs.npy` (item, label), `labels_multiannotator.csv`, and the three tables that
          `get_label_quality_multiannotator` gives, by this fit; labels are their numbers in `classes.csv`. The quality
          of an answer is the probability of its label, that of an annotator the mean of these.
        * soft-labels: Parquet, or CSV by the name of the file: `item`, `label`, `p[<label>]` of each label, and
          `weight`, one less the entropy as a share of the largest one: 1 where the label is sure, 0 where all are
          equally probable.
    tasks : path, DataFrame or list of dict, optional
        What the tool shows of each item: its own export, or a table with a column of items. Fields are kept, the
        answers of annotators are not. argilla, prodigy and doccano need it.
    item : str, optional
        The field of the tasks that names the item, such as "data.ticket"; by default the tool's own, such as the `id`
        of a task, or a column with one of the names that `read_annotations` knows.
    question : str, optional
        Argilla's name of the question, or Label Studio's of the control (`from_name`); by default the dimension, or
        else the only one that was answered in the tasks.
    to_name : str, optional
        Label Studio's name of what the control labels.
    agent : str, optional
        Who gives the labels: the `model_version` in Label Studio, the agent in Argilla, the annotator in Prodigy. By
        default "bayesanno" and the model.
    min_probability : float, default 0
        Items whose label is less probable are left out.
    dimension : str, optional
        Of which dimension, where several were annotated together.
    use_gold : bool, default True
        Whether an item whose true label is known gets that one, with probability 1.

    Returns
    -------
    ExportedLabels
        With `n_items`, and of these `n_known`; and left out `n_unsure` and `n_without_task`.

    Raises
    ------
    DataError
        If there is no such tool, it lacks a name or the tasks, an option is not of this tool, the tasks cannot be read
        or have none of the items, or no label is as probable as asked for.
    DataFileError
        If the file cannot be written.
    FitError
        If the items are of types and have no labels, or which of several dimensions is meant is not said.

    Warns
    -----
    NamesWarning
        If a true label is none of the labels; its item gets the label of the fit.

    References
    ----------
    What the tools import: https://labelstud.io/guide/predictions, https://docs.argilla.io/latest/reference/argilla/records,
    https://prodi.gy/docs/api-interfaces#choice, https://doccano.github.io/doccano,
    https://docs.cleanlab.ai/stable/cleanlab/multiannotator.html

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("mace", data, method="em", random_seed=1, progressbar=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ba.export_labels(fit, f"{folder}/labels.parquet", to="soft-labels", use_gold=False).n_items
    ...     pd.read_parquet(f"{folder}/labels.parquet").columns[:3].tolist()
    300
    ['item', 'label', 'p[billing]']
    """
    tool = find_tool(to)
    if question is None and "question" in tool.takes:
        question = dimension
    options = ToolOptions(question=question, to_name=to_name, tasks=tasks, item=item, agent=agent)
    tool.check(options)
    check_least(min_probability)
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise DataFileError(f"there is no folder {path.absolute().parent} to write {path.name} into")
    records = tool.read_tasks(options)
    view = view_for_table(fit)
    part = part_of(view, dimension)
    if part.is_of_types:
        raise FitError(f"{view.model.name} gives types of items, not their labels: there are none to export")
    probability = np.array(part.posterior.values)
    known = part.data.known_codes if use_gold else np.full(len(probability), -1)
    is_known = known >= 0
    if use_gold:
        _warn_of_strange_gold(part.data)
    probability[is_known] = np.eye(probability.shape[1])[known[is_known]]
    labels = Labels(
        data=part.data,
        probability=probability,
        row=np.arange(part.data.n_items),
        agent=name_agent(view) if agent is None else agent,
        options=options,
        tasks=records,
    )
    return _write(tool, labels, path, min_probability, is_known)


def _warn_of_strange_gold(data: AnnotationData) -> None:
    """Warn of true labels that are none of the labels: such an item counts as not known."""
    codes = data.known_codes.tolist()
    strange = [item for item, code in zip(data.items, codes, strict=True) if code < 0 and item in data.gold]
    if strange:
        warn(
            f"{counted(len(strange), 'true label')} of {len(data.gold):,} cannot be exported, as "
            f"{data.gold[strange[0]]!r} of item {strange[0]!r}, which is not among the labels {listed(data.classes)}: "
            "the fit's own label is",
            NamesWarning,
        )


def check_least(min_probability: float) -> None:
    """Raise a DataError unless this is a probability."""
    if not 0 <= min_probability <= 1:
        raise DataError(f"min_probability is {min_probability}: it must be at least 0 and at most 1")


def name_agent(view: FitView) -> str:
    """Return who gives the labels of a fit, for a tool."""
    return f"bayesanno {view.model.name}{' recalibrated' if view.is_recalibrated else ''}"


def _explain_none(tool: Tool, item: str, tasks: Tasks) -> NoReturn:
    """Raise a DataError that says why the tasks have none of the items, such as this one."""
    if item.rpartition(" / ")[0] in tasks.by_item:
        raise DataError(
            f"item {item!r} is a task with one of its labels, as multi_label=True makes them, and {tool.name} takes "
            "one label for each task: export these to soft-labels or cleanlab"
        )
    named = next(iter(tasks.by_item))
    raise DataError(
        f"{tasks.name} has none of the items of this fit: {tasks.item!r} has names such as {named!r}, and the items "
        f"are called {item!r} and so on: name another field with item=..."
    )


def _write(tool: Tool, labels: Labels, path: Path, least: float, known: np.ndarray) -> ExportedLabels:
    """Write the labels that are probable enough, of items that the tasks have."""
    shown, tasks = labels, labels.tasks
    if tasks:
        shown = labels.only(np.array([item in tasks.by_item for item in labels.items], dtype=bool))
        if not shown.row.size:
            _explain_none(tool, labels.items[0], tasks)
    sure = shown.only(shown.score >= least)
    if not sure.row.size:
        raise DataError(
            f"no label is as probable as {least}, the most probable one is {shown.score.max():.4g}: lower "
            "min_probability=..."
        )
    tool.write(sure, path)
    n_unsure, n_without_task = shown.row.size - sure.row.size, labels.row.size - shown.row.size
    return ExportedLabels(sure.row.size, int(known[sure.row].sum()), n_unsure, n_without_task)
