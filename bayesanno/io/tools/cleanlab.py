"""cleanlab: a folder with the input of `cleanlab.multiannotator`, and with its tables computed from this fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bayesanno.ground.errors import DataError, DataFileError
from bayesanno.ground.files import write_whole
from bayesanno.ground.lazy import pd
from bayesanno.io.tools.tool import Labels, Tool

PROBABILITIES = "pred_probs.npy"
MOST_CELLS = 20_000_000  # the limit for the table of items by annotators


def write_cleanlab(labels: Labels, path: Path) -> None:
    """Write a new folder, or in place of one that was written before.

    Raises
    ------
    DataError
        If the table of items by annotators is too large.
    DataFileError
        If something else is there, or it cannot be written.
    """
    if path.exists() and not (path / PROBABILITIES).is_file():
        raise DataFileError(f"{path} is not a folder with {PROBABILITIES}, so it is not replaced: choose another path")
    if labels.row.size * labels.data.n_annotators > MOST_CELLS:
        raise DataError(
            f"the table of items by annotators that cleanlab takes would have {labels.row.size:,} rows and "
            f"{labels.data.n_annotators:,} columns, which is too large: export soft-labels, or fewer items"
        )
    tables = tabulate_answers(labels)
    with write_whole(path.absolute()) as unfinished:
        unfinished.mkdir()
        np.save(unfinished / PROBABILITIES, labels.probability[labels.row])
        for name, table in tables.items():
            table.to_csv(unfinished / f"{name}.csv", lineterminator="\n")


def tabulate_answers(labels: Labels) -> dict[str, pd.DataFrame]:
    """Return the classes, the answers as their numbers (item, annotator), and cleanlab's three tables of quality.

    The last answer of an annotator to an item counts; unsure answers do not.
    """
    data, probability = labels.data.without_unsure(), labels.probability
    answers = pd.DataFrame({"item": data.item, "annotator": data.annotator, "label": data.label})
    answers = answers[answers["item"].isin(labels.row)].drop_duplicates(["item", "annotator"], keep="last")
    said, item = answers["label"].to_numpy(), answers["item"].to_numpy()
    consensus = pd.Series(labels.code, index=labels.row)
    answers = answers.assign(quality=probability[item, said], agrees=said == consensus.loc[item].to_numpy())
    items = pd.Index(labels.items, name="item")

    def widen(column: str) -> pd.DataFrame:
        wide = answers.pivot(index="item", columns="annotator", values=column).reindex(labels.row)
        return wide.set_axis([data.annotators[int(code)] for code in wide.columns], axis=1).set_axis(items, axis=0)

    of_item = answers.groupby("item")["agrees"].agg(["mean", "size"]).reindex(labels.row)
    by_annotator = answers.groupby("annotator")
    of_label = answers.groupby(["annotator", "label"])["quality"].mean()
    stats = pd.DataFrame(
        {
            "annotator_quality": by_annotator["quality"].mean(),
            "agreement_with_consensus": by_annotator["agrees"].mean(),
            "worst_class": of_label.unstack().idxmin(axis=1),
            "num_examples_labeled": by_annotator.size(),
        }
    )
    stats.index = pd.Index([data.annotators[int(code)] for code in stats.index], name="annotator")
    return {
        "classes": pd.DataFrame({"label": list(data.classes)}).rename_axis("code"),
        "labels_multiannotator": widen("label").astype("Int64"),
        "label_quality": pd.DataFrame(
            {
                "consensus_label": labels.code,
                "consensus_quality_score": labels.score,
                "annotator_agreement": of_item["mean"].to_numpy(),
                "num_annotations": of_item["size"].fillna(0).astype(int).to_numpy(),
            },
            index=items,
        ),
        "detailed_label_quality": widen("quality").add_prefix("quality_annotator_"),
        "annotator_stats": stats.sort_values(["annotator_quality", "agreement_with_consensus"]),
    }


CLEANLAB = Tool("cleanlab", write_cleanlab)
