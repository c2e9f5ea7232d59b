"""What `bayesanno agreement` does: agreement, the use of labels and unanimity by chance, as tables and figures."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

import bayesanno as ba
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import counted, enumerated
from bayesanno._core.validate import known_seed
from bayesanno.agreement.behaviour import pair_distances, usage_shares
from bayesanno.agreement.coefficients import MEAN_OF_PAIRS, find_label_scale
from bayesanno.agreement.groups import MOST_GROUPED
from bayesanno.agreement.noise import bound_noise_of
from bayesanno.agreement.subsets import alpha_without_each
from bayesanno.cli import options as opt
from bayesanno.cli.files import describe_study, new_folder, print_result, show_status, show_table, write_results
from bayesanno.data.labelled import ANYONE, LEAST_ORDERED
from bayesanno.modeling.kinds import KINDS, ratings, refused_by
from bayesanno.modeling.kinds.annotations import find_in_repeats, read_by_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PAIRED = 500  # annotators: up to so many, every pair is listed, whether it shares items or not
MOST_SHOWN = 5  # rows of a table on the screen
SHOWN_SIZES = (2, 3, 5)  # of the subsets on the screen
SHORTER = {f"cohen_{name}": name for name in ("kappa", "kappa_linear", "kappa_quadratic")}
SHORTER |= {"krippendorff_alpha": "alpha"}


@opt.command(ba.agreement_table, intervals=True)
def agreement(
    data: opt.DataSource,
    out: opt.OutFolder,
    ordered: Annotated[
        bool | None,
        opt.flag(
            "--ordered/--unordered",
            "Whether labels are ordered; by default numbers and known scales are. --ordered takes --labels.",
        ),
    ],
    sets: Annotated[bool, opt.flag("--sets", "With --multi-label: also compare the sets of labels of each answer.")],
    resamples: Annotated[int, opt.value("N", "Bootstrap samples of the items, for intervals; 0 for none.")],
    random_seed: opt.Seed,
    reading: opt.Reading,
    posterior: Annotated[
        bool, opt.flag("--posterior", "Fit label_usage: intervals, and which annotator differs most.")
    ] = False,
    scale: Annotated[opt.Text, opt.OF_KINDS["scale"]] = None,
    plots: Annotated[bool, opt.flag("--plots/--no-plots", "Whether to draw the figures.")] = True,
    overwrite: opt.Overwrite = False,
) -> None:
    """Measure agreement on labels, or on ratings (--scale).

    It also measures how annotators use labels. Its last sentence says which coefficient to report.
    """
    began = time.perf_counter()
    options, chosen = opt.gather_options(**reading, scale=scale), known_seed(random_seed)
    with new_folder(out, overwrite=overwrite) as folder:
        if len(options.label) > 1:
            raise ba.DataError(f"agreement reads one label column, not {len(options.label)}: name one")
        if scale:
            if ordered is not None or sets or posterior:
                raise ba.DataError("--scale compares values: leave out --ordered, --unordered, --sets and --posterior")
            options.refuse(refused_by(KINDS[ba.RatingData]), "--scale reads ratings")
            rated = ratings.read_by_options(opt.one_source(data), options)
            typer.echo(rated.describe(), err=True)
            found = ba.rating_agreement(rated, resamples=resamples, random_seed=chosen)
            run = describe_study("agreement", rated, began, seed=chosen, resamples=resamples)
            files = write_results(folder, {"coefficients.csv": found}, {}, run)
            print_result([show_table(found), ba.agreement.advise(rated, found)], out, files)
            return
        answers = read_by_options(opt.one_source(data), options)
        answers = replace(answers, controls={})  # which some exports have, and nothing here uses
        answers = answers.in_order() if ordered else answers
        typer.echo(answers.describe(), err=True)
        with show_status("agreement"):
            tables = tabulate(answers, ordered=ordered, sets=sets, resamples=resamples, random_seed=chosen)
        known: ba.AnnotationData | xr.DataTree = answers
        if posterior:
            known = ba.fit("label_usage", answers, random_seed=chosen, check=False, progressbar=sys.stderr.isatty())
            divergence = ba.behaviour_table(known).drop(columns=["annotator", "n_annotations"])
            tables["annotators.csv"] = tables["annotators.csv"].join(divergence)
        figures = draw(answers, known) if plots else {}
        by_order = find_label_scale(answers, ordered)[1]
        asked = {"seed": chosen, "ordered": by_order, "sets": sets, "resamples": resamples}
        asked |= {"unsure_left_out": int(answers.unsure_by_annotator.sum())} if answers.unsure else {}
        run = describe_study("agreement", answers, began, **asked, posterior=posterior)
        files = write_results(folder, tables, figures, run)
    print_result([*describe_order(answers, asked=ordered), *describe(answers, tables)], out, files)


def tabulate(
    data: ba.AnnotationData, *, ordered: bool | None, sets: bool, resamples: int, random_seed: int
) -> dict[str, pd.DataFrame]:
    """Return the tables that the command writes, by the names of their files."""
    by_order = bool(ordered)
    return {
        "coefficients.csv": ba.agreement_table(
            data, ordered=ordered, sets=sets, resamples=resamples, random_seed=random_seed
        ),
        "annotators.csv": _tabulate_annotators(data, ordered=by_order),
        "pairs.csv": _tabulate_pairs(data, ordered=by_order),
        "labels.csv": ba.agreement.confusable_labels(data),
        "subsets.csv": ba.agreement.subset_table(data, ordered=by_order),
        **_tabulate_noise(data),
        **_tabulate_known(data, random_seed),
    }


def _tabulate_annotators(data: ba.AnnotationData, *, ordered: bool) -> pd.DataFrame:
    usage = ba.usage_table(data)
    own = ba.annotator_agreement(data, ordered=ordered).rename(columns=SHORTER).drop(columns=["annotator", "n"])
    alpha = alpha_without_each(data, ordered=ordered)
    first = usage[["annotator", "n", "leverage", "kld", "jsd_mean"]].assign(alpha_without=alpha)
    table = first.join(own).join(usage.drop(columns=first.columns, errors="ignore"))
    if not 3 <= _n_active(data) <= MOST_GROUPED:
        return table
    groups = ba.agreement.group_annotators(data).set_index("annotator")["group"]
    return table.assign(group=table["annotator"].map(groups).astype("Int64"))


def _n_active(data: ba.AnnotationData) -> int:
    return int(np.count_nonzero(np.bincount(data.annotator)))


def _tabulate_pairs(data: ba.AnnotationData, *, ordered: bool) -> pd.DataFrame:
    table = ba.pair_table(data, ordered=ordered).rename(columns=SHORTER)
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


def _tabulate_noise(data: ba.AnnotationData) -> dict[str, pd.DataFrame]:
    try:
        return {"noise.csv": pd.DataFrame([asdict(bound_noise_of(data))])}
    except ba.DataError:  # too few items are disagreed on to estimate the chance of agreement
        return {}


def _tabulate_known(data: ba.AnnotationData, random_seed: int) -> dict[str, pd.DataFrame]:
    """Return how good annotators are, and the share of each label, if an item with a known label has an answer.

    True labels that are not among the labels are left out: reading has warned of them.
    """
    sure = data.without_unsure()
    data = replace(sure, gold={item: label for item, label in sure.gold.items() if label in sure.classes})
    if not (data.gold_codes[data.item] >= 0).any():
        return {}
    return {
        "gold.csv": ba.gold_table(data, random_seed=random_seed),
        "rates.csv": ba.rate_table(data, random_seed=random_seed),
    }


def draw(data: ba.AnnotationData, known: ba.AnnotationData | xr.DataTree) -> dict[str, Figure]:
    """Return the figures that can be drawn, by the names of their files; `known` is a fit, or the data alone."""
    figures = {"usage.png": ba.plot_usage(data)}
    if _n_active(data) >= 2:
        figures["divergence.png"] = ba.report.plot_divergence(known)
    if 3 <= _n_active(data) <= MOST_GROUPED:
        figures["distances.png"] = ba.report.plot_distances(data)
    return figures


def describe_order(data: ba.AnnotationData, *, asked: bool | None) -> list[str]:
    """Return in which order the labels are taken, if nobody asked for it and they have three or more."""
    if asked is not None or data.n_classes < LEAST_ORDERED or not find_label_scale(data, asked)[1]:
        return []
    how = f", {' < '.join(data.known_scale)}" if data.known_scale else " numbers"
    return [f"labels are taken as ordered{how}: if they are not, use --unordered"]


def describe(data: ba.AnnotationData, tables: dict[str, pd.DataFrame]) -> list[str]:
    """Return a summary of the tables in words."""
    n_unsure = int(data.unsure_by_annotator.sum())
    annotators, subsets = tables["annotators.csv"], tables["subsets.csv"].dropna(subset=["alpha"])
    lines = [f"unsure answers are left out, except from the use of labels: {n_unsure:,}"] if n_unsure else []
    coefficients = tables["coefficients.csv"]
    defined = coefficients.dropna(subset="value").drop(columns="reason")
    lines += [show_table(defined)]
    of_pairs = [name for name in defined["coefficient"] if name in MEAN_OF_PAIRS]
    if of_pairs and _n_active(data) > 2:
        lines.append(f"means over the pairs of annotators: {', '.join(of_pairs)}")
    lines += [f"{row.coefficient}: {row.reason}" for row in coefficients.query("reason != ''").itertuples()]
    if _n_active(data) > 1:
        lines += _describe_outliers(annotators)
    if data.annotators != (ANYONE,):
        lines += [one.text for one in find_in_repeats(data)]
    if "gold.csv" in tables:
        known = tables["gold.csv"].nlargest(MOST_SHOWN, "n")
        known = known.drop(columns=known.filter(regex=r"^(?!kappa).*_eti").columns)
        lines += ["by known labels (gold.csv has all annotators, rates.csv the shares of labels):", show_table(known)]
    if "group" in annotators and annotators["group"].nunique() > 1:
        *sizes, last = map(str, annotators["group"].value_counts().sort_index())
        lines.append(f"by their use of labels, annotators form groups of {', '.join(sizes)} and {last}")
    confused = tables["labels.csv"].query("times_confused > 0").head(MOST_SHOWN)
    if len(confused):
        pairs = [f"{row.label_1} and {row.label_2} ({row.times_confused:,} times)" for row in confused.itertuples()]
        lines.append(f"labels that annotators most often give to the same item: {'; '.join(pairs)}")
    for row in tables["noise.csv"].dropna(subset="gamma").to_dict("records") if "noise.csv" in tables else ():
        noise, agreed = (f"{int(number):,}" for number in (row["t0"] - row["d"], row["n"] - row["d"]))
        lines.append(
            f"with probability {row['ci_prob']:g}, at most {noise} of the {agreed} unanimous items are so by chance"
        )
    smaller = subsets[subsets["size"].isin(SHOWN_SIZES) & (subsets["size"] < _n_active(data))]
    for row in smaller.groupby("size").head(1).to_dict("records"):
        searched = ", of those searched" if row["search"] == "beam" else ""
        who = f"the {row['size']} of {counted(data.n_annotators, 'annotator')} who agree best{searched}"
        lines.append(f"{who}: alpha {row['alpha']:.3f} ({row['annotators']})")
    return [*lines, ba.agreement.advise(data, coefficients)]


def _describe_outliers(table: pd.DataFrame) -> list[str]:
    if "farthest_probability" in table:
        row = table.iloc[int(table["farthest_probability"].argmax())]
        who = f"{row['annotator']} ({counted(int(row['n']), 'annotation')})"
        return [f"{who} uses labels least like the others, with probability {row['farthest_probability']:.2f}"]
    outliers = table[table["outlier"]].sort_values("jsd_mean", ascending=False)["annotator"]
    if outliers.empty:
        return ["no annotator uses labels very unlike the others"]
    names = enumerated(outliers.tolist(), most=MOST_SHOWN)
    return [f"annotators who use labels very unlike the others (--posterior gives probabilities): {names}"]
