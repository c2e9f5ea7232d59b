"""Soft labels to train on: the probability of each label of each item, as Parquet or CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bayesanno.ground.errors import DataError
from bayesanno.ground.files import write_whole
from bayesanno.ground.lazy import pd
from bayesanno.io.tools.tool import Labels, Tool
from bayesanno.io.write import write_table

PARQUET = (".parquet", ".pq")


def write_soft_labels(labels: Labels, path: Path) -> None:
    """Write item, label, p[<label>] of each label, and weight: one less the entropy in shares of the largest one.

    Raises
    ------
    DataError
        If the name of the file is none of Parquet, CSV or TSV.
    DataFileError
        If it cannot be written.
    """
    from scipy.special import xlogy

    kind = path.suffix.lower()
    if kind not in (*PARQUET, ".csv", ".tsv"):
        raise DataError(f"soft labels are a table: {path.name} must end in .parquet, .csv or .tsv")
    probability = labels.probability[labels.row]  # (item, label)
    largest = np.log(max(probability.shape[1], 2))
    table = pd.DataFrame(
        {
            "item": pd.Series(labels.items, dtype="str"),
            "label": pd.Series([labels.data.classes[code] for code in labels.code.tolist()], dtype="str"),
            **{f"p[{label}]": probability[:, code] for code, label in enumerate(labels.data.classes)},
            "weight": (1 + xlogy(probability, probability).sum(axis=1) / largest).clip(0, 1),
        }
    )
    if kind not in PARQUET:
        write_table(table, path)
        return
    with write_whole(path) as unfinished:
        table.to_parquet(unfinished, index=False)


SOFT_LABELS = Tool("soft-labels", write_soft_labels)
