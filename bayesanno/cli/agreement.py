"""What `bayesanno agreement` does: how far annotators agree and how they use labels, as tables, figures and words."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

import bayesanno as ba
from bayesanno.agreement.behaviour import pair_distances, usage_shares, usage_table
from bayesanno.agreement.coefficients import agreement_table, find_label_scale
from bayesanno.agreement.groups import MOST_GROUPED, confusable_labels, group_annotators
from bayesanno.agreement.pairs import annotator_agreement, pair_table
from bayesanno.agreement.subsets import alpha_without_each, subset_table
from bayesanno.cli import options as opt
from bayesanno.cli.files import describe_data, new_folder, print_result, show_status, write_results
from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.lazy import pd, xr
from bayesanno.ground.validate import known_seed
from bayesanno.ground.wording import counted, enumerated
from bayesanno.io.annotations import annotations_from
from bayesanno.io.sources import open_source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PAIRED = 500  # annotators: up to so many, every pair is listed, whether it shares items or not
MOST_SHOWN = 5  # rows of a table on the screen
SHOWN_SIZES = (2, 3, 5)  # of the subsets on the screen
SHORTER = {
    "cohen_kappa": "kappa",
    "cohen_kappa_linear": "kappa_linear",
    "cohen_kappa_quadratic": "kappa_quadratic",
    "krippendorff_alpha": "alpha",
}


@opt.reads_data(without=opt.OF_MODELS, several=False)
def agreement(
    data: opt.DataSource,
    out: opt.OutFolder,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Fit label_usage: intervals, and which annotator differs most.")
    ] = False,
    ordered: Annotated[
        bool | None,
        typer.Option(
            "--ordered/--unordered",
            help="Whether the labels are ordered; by default they are if they are numbers.",
            show_default=False,
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap samples of the items, for intervals; 0 for none.")] = 1000,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw the figures.")] = True,
    seed: opt.Seed = None,
    *,
    options: opt.DataOptions,
    overwrite: opt.Overwrite = False,
) -> None:
    """Measure how far annotators agree and how they use labels."""
    began = time.perf_counter()
    answers = annotations_from(*open_source(data, options.of_one_column))
    answers = replace(answers, controls={})  # which some exports have, and nothing here uses
    typer.echo(answers.describe(), err=True)
    chosen = known_seed(seed)
    with new_folder(out, overwrite=overwrite) as folder:
        with show_status("agreement"):
            tables = tabulate(answers, ordered=ordered, resamples=resamples, random_seed=chosen)
        known: AnnotationData | xr.DataTree = answers
        if posterior:
            known = ba.fit("label_usage", answers, random_seed=chosen, check=False, progressbar=sys.stderr.isatty())
            divergence = ba.behaviour_table(known).drop(columns=["annotator", "n_annotations"])
            tables["annotators.csv"] = tables["annotators.csv"].join(divergence)
        figures = draw(answers, tables["subsets.csv"], known) if plots else {}
        run = {
            "command": "agreement",
            "data": describe_data(answers) | {"hash": answers.hash},
            "seed": chosen,
            "ordered": find_label_scale(answers, ordered)[1],
            "resamples": resamples,
            "posterior": posterior,
            **({"unsure_left_out": int(answers.unsure_by_annotator.sum())} if answers.unsure else {}),
            "seconds": time.perf_counter() - began,
        }
        files = write_results(folder, tables, figures, run)
    print_result(describe(answers, tables), out, files)


def tabulate(
    data: AnnotationData, *, ordered: bool | None, resamples: int, random_seed: int
) -> dict[str, pd.DataFrame]:
    """Return the tables that the command writes, by the names of their files."""
    return {
        "coefficients.csv": agreement_table(data, ordered=ordered, resamples=resamples, random_seed=random_seed),
        "annotators.csv": _tabulate_annotators(data),
        "pairs.csv": _tabulate_pairs(data),
        "labels.csv": confusable_labels(data),
        "subsets.csv": subset_table(data),
    }


def _tabulate_annotators(data: AnnotationData) -> pd.DataFrame:
    usage = usage_table(data)
    own = annotator_agreement(data).rename(columns=SHORTER).drop(columns=["annotator", "n"])
    first = usage[["annotator", "n", "leverage", "kld", "jsd_mean"]].assign(alpha_without=alpha_without_each(data))
    table = first.join(own).join(usage.drop(columns=first.columns, errors="ignore"))
    if not 3 <= _n_active(data) <= MOST_GROUPED:
        return table
    groups = group_annotators(data).set_index("annotator")["group"]
    return table.assign(group=table["annotator"].map(groups).astype("Int64"))


def _n_active(data: AnnotationData) -> int:
    return int(np.count_nonzero(np.bincount(data.annotator)))


def _tabulate_pairs(data: AnnotationData) -> pd.DataFrame:
    table = pair_table(data).rename(columns=SHORTER)
    if data.n_annotators <= MOST_PAIRED:
        first, second = np.triu_indices(data.n_annotators, 1)
        names = np.array(data.annotators, dtype=object)
        every = pd.DataFrame({"annotator_1": names[first], "annotator_2": names[second]}, dtype="str")
        table = every.merge(table, how="left").fillna({"n": 0}).astype({"n": int})
    code = {name: code for code, name in enumerate(data.annotators)}
    one, other = (table[f"annotator_{which}"].map(code).to_numpy(dtype=int) for which in (1, 2))
    table.insert(3, "jsd", pair_distances(usage_shares(data), one, other))
    order = ["annotator_1", "annotator_2", "n", "jsd", "agreement", "kappa", "alpha"]
    return table[[*order, *(name for name in table.columns if name not in order)]]


def draw(data: AnnotationData, subsets: pd.DataFrame, known: AnnotationData | xr.DataTree) -> dict[str, Figure]:
    """Return the figures that can be drawn, by the names of their files; `known` is a fit, or the data alone."""
    figures = {"usage.png": ba.plot_usage(data)}
    if _n_active(data) >= 2:
        figures["divergence.png"] = ba.plot_divergence(known)
    if 3 <= _n_active(data) <= MOST_GROUPED:
        figures["distances.png"] = ba.plot_distances(data)
    if subsets["alpha"].notna().any():
        figures["subsets.png"] = ba.plot_subsets(subsets)
    return figures


def describe(data: AnnotationData, tables: dict[str, pd.DataFrame]) -> list[str]:
    """Return a summary of the tables in words."""
    n_unsure = int(data.unsure_by_annotator.sum())
    annotators, subsets = tables["annotators.csv"], tables["subsets.csv"].dropna(subset=["alpha"])
    lines = [f"left out, except from the use of labels: {counted(n_unsure, 'unsure answer')}"] if n_unsure else []
    lines += [*_describe_coefficients(tables["coefficients.csv"]), *_describe_outliers(annotators)]
    if "group" in annotators:
        sizes = annotators["group"].value_counts().sort_index().tolist()
        lines.append(f"annotators who use labels alike: groups of {enumerated([str(size) for size in sizes])}")
    confused = tables["labels.csv"].query("times_confused > 0").head(MOST_SHOWN)
    if len(confused):
        pairs = [f"{row.label_1} and {row.label_2} ({row.times_confused:,} times)" for row in confused.itertuples()]
        lines.append(f"labels that annotators most often give to the same item: {'; '.join(pairs)}")
    for row in subsets[subsets["size"].isin(SHOWN_SIZES)].groupby("size").head(1).to_dict("records"):
        searched = ", of those searched" if row["search"] == "beam" else ""
        who = f"the {row['size']} of {counted(data.n_annotators, 'annotator')} who agree best{searched}"
        lines.append(f"{who}: alpha {row['alpha']:.3f} ({row['annotators']})")
    return lines


def _describe_coefficients(table: pd.DataFrame) -> Iterator[str]:
    width = max(map(len, table["coefficient"]))
    for row in table.to_dict("records"):
        value = "     -" if np.isnan(row["value"]) else f"{row['value']:6.3f}"
        interval = "" if np.isnan(row["low"]) else f"  [{row['low']:.3f}, {row['high']:.3f}]"
        reason = f"  {row['reason']}" if row["reason"] else ""
        yield f"{row['coefficient']:<{width}}  {value}{interval}{reason}"


def _describe_outliers(table: pd.DataFrame) -> list[str]:
    if "farthest_probability" in table:
        row = table.iloc[int(table["farthest_probability"].argmax())]
        who = f"{row['annotator']} ({counted(int(row['n']), 'annotation')})"
        return [f"uses labels least like the others, with probability {row['farthest_probability']:.2f}: {who}"]
    outliers = table[table["outlier"]].sort_values("jsd_mean", ascending=False)["annotator"]
    if outliers.empty:
        return ["no annotator uses labels very unlike the others"]
    more = len(outliers) - MOST_SHOWN
    names = [*outliers[:MOST_SHOWN], *([f"{more} more"] if more > 0 else [])]
    return [f"annotators who use labels very unlike the others (--posterior gives probabilities): {enumerated(names)}"]
