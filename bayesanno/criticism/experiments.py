"""The experiments of Hovy et al. (2013), for any class model and method: what the accuracy of labels depends on.

Each function varies one factor, fits every method to the same data, and returns one row per data set and method. The
majority vote (`majority_vote`) is one of the methods. The paper averages ten runs of each setting: `runs`.

References
----------
D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy (2013), Learning whom to trust with MACE, NAACL-HLT, pages
1120-1130, https://aclanthology.org/N13-1132.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from bayesanno._core.errors import DataError
from bayesanno._core.lazy import pd
from bayesanno._core.running import track
from bayesanno._core.validate import check_seed, known_seed
from bayesanno._core.wording import as_names, option
from bayesanno.agreement.vote import majority_vote
from bayesanno.analysis.labels import check_coverage, coverage_table
from bayesanno.criticism.trials import VOTE, Fits, check_fits, try_all, try_fit
from bayesanno.data.annotations import AnnotationData, take_rows
from bayesanno.data.described import require_kind
from bayesanno.simulation.designs import simulate_pool

MACE_BY_EM: Fits = {"mace": {"model": "mace", "method": "em"}}
COVERAGES = tuple(share / 20 for share in range(1, 21))
SHARES = tuple(share / 20 for share in range(21))


def vary_good_annotators(
    fits: Fits = MACE_BY_EM,
    *,
    good: Sequence[int] = tuple(range(11)),
    strategies: str | Sequence[str] = ("random", "first"),
    n_labels: Sequence[int] = (2, 4),
    annotators: int = 20,
    items: int = 100,
    per_item: int = 10,
    accuracy: float = 0.95,
    runs: int = 10,
    random_seed: int | None = None,
    progressbar: bool = True,
) -> pd.DataFrame:
    """Vary the number of good annotators in a pool: figure 5.

    Parameters
    ----------
    fits : mapping of name to mapping
        The methods: a name for the table, and the arguments of `bayesanno.fit`. The default is MACE by EM.
    good : sequence of int
        Numbers of good annotators.
    strategies : sequence of {"random", "first"}
        The behaviour of the other annotators; see `bayesanno.simulate_pool`.
    n_labels : sequence of int
        Numbers of labels.
    annotators, items, per_item : int
        The number of annotators, of items, and of answers per item.
    accuracy : float, default 0.95
        The accuracy of good annotators.
    runs : int
        Data sets per setting.
    random_seed : int, optional
    progressbar : bool

    Returns
    -------
    pandas.DataFrame
        One row per data set and method: `n_labels`, `strategy`, `n_good`, `run`, `method` ("vote" or the name),
        `accuracy`, and `problem`, the warnings of the fit, or the reason why it failed (accuracy is then nan).

    Raises
    ------
    DataError
        If there are more good annotators than annotators, or a setting is out of range.
    FitError
        If `fits` or `runs` is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> few = {"good": [5], "n_labels": [4], "strategies": ["random"], "runs": 1}
    >>> table = ba.experiments.vary_good_annotators(**few, random_seed=1, progressbar=False)
    >>> table.set_index("method")["accuracy"].round(2).to_dict()
    {'vote': 0.71, 'mace': 0.94}
    """
    check_seed(random_seed)
    if not 0 <= min(good, default=0) <= max(good, default=0) <= annotators:
        raise DataError(f"good is {list(good)}: each must be a number of the {annotators} annotators")
    settings = [
        ((k, strategy == "first", n_good), {"n_labels": k, "strategy": strategy, "n_good": n_good})
        for k, strategy, n_good in product(n_labels, as_names(strategies), good)
    ]

    def make_data(setting: dict[str, Any], seed: int) -> AnnotationData:
        return simulate_pool(
            good=setting["n_good"],
            adverse=annotators - setting["n_good"],
            strategy=setting["strategy"],
            items=items,
            labels=setting["n_labels"],
            per_item=per_item,
            accuracy=accuracy,
            random_seed=seed,
        )

    table = try_all(fits, settings, make_data, runs=runs, random_seed=random_seed, progressbar=progressbar)
    return table.drop(columns="accuracy_of_others", errors="ignore")


def vary_annotations(
    data: AnnotationData,
    fits: Fits = MACE_BY_EM,
    *,
    per_item: Sequence[int] = tuple(range(1, 11)),
    runs: int = 10,
    random_seed: int | None = None,
    progressbar: bool = True,
) -> pd.DataFrame:
    """Vary the number of annotations per item, drawn at random: figure 6.

    Parameters
    ----------
    data : AnnotationData
        Data with gold.
    fits : mapping of name to mapping
        As in `vary_good_annotators`.
    per_item : sequence of int
        Numbers of annotations to keep per item; items with fewer keep all.
    runs : int
        Random selections per number.
    random_seed : int, optional
    progressbar : bool

    Returns
    -------
    pandas.DataFrame
        One row per selection and method: `per_item`, `run`, `method`, `accuracy` and `problem`, as in
        `vary_good_annotators`.

    Raises
    ------
    DataError
        If there is no gold, or a number of annotations is below 1.
    FitError
        If `fits` or `runs` is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> table = ba.experiments.vary_annotations(data, per_item=[3], runs=2, random_seed=1, progressbar=False)
    >>> table["method"].tolist()
    ['vote', 'mace', 'vote', 'mace']
    """
    _check(data, "vary_annotations", random_seed)
    if min(per_item, default=1) < 1:
        raise DataError(f"per_item is {list(per_item)}: each must be a number of annotations, 1 or more")
    settings = [((n,), {"per_item": n}) for n in per_item]

    def make_data(setting: dict[str, Any], seed: int) -> AnnotationData:
        return draw_annotations(data, setting["per_item"], np.random.default_rng(seed))

    table = try_all(fits, settings, make_data, runs=runs, random_seed=random_seed, progressbar=progressbar)
    return table.drop(columns="accuracy_of_others", errors="ignore")


def vary_controls(
    data: AnnotationData,
    fits: Fits = MACE_BY_EM,
    *,
    shares: Sequence[float] = SHARES,
    runs: int = 10,
    random_seed: int | None = None,
    progressbar: bool = True,
) -> pd.DataFrame:
    """Vary the share of items that are controls, drawn at random: figure 7.

    Parameters
    ----------
    data : AnnotationData
        Data with gold, from which the labels of controls are taken. Its own controls are left out.
    fits : mapping of name to mapping
        As in `vary_good_annotators`; each model must accept controls.
    shares : sequence of float
        Shares of the items with gold, in [0, 1]; by default 0, 0.05, ..., 1.
    runs : int
        Random selections per share.
    random_seed : int, optional
    progressbar : bool

    Returns
    -------
    pandas.DataFrame
        One row per selection and method: `share`, `n_controls`, `run`, `method`, `accuracy` over all items as in the
        paper, `accuracy_of_others` over the items that are not controls (nan without such items), and `problem`.

    Raises
    ------
    DataError
        If there is no gold, or a share is out of range.
    FitError
        If `fits` or `runs` is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> table = ba.experiments.vary_controls(data, shares=[0, 0.5, 1], runs=1, random_seed=1, progressbar=False)
    >>> table.loc[table["method"] == "mace", "n_controls"].tolist()
    [0, 150, 300]
    """
    _check(data, "vary_controls", random_seed)
    if not 0 <= min(shares, default=0) <= max(shares, default=0) <= 1:
        raise DataError(f"shares are {list(shares)}: each must be between 0 and 1")
    known = [item for item, label in data.gold.items() if label in data.classes]
    numbers = [round(share * len(known)) for share in shares]
    settings = [((n,), {"share": share, "n_controls": n}) for share, n in zip(shares, numbers, strict=True)]

    def make_data(setting: dict[str, Any], seed: int) -> AnnotationData:
        drawn = np.random.default_rng(seed).choice(len(known), size=setting["n_controls"], replace=False)
        return replace(data, controls={known[at]: data.gold[known[at]] for at in drawn})

    return try_all(fits, settings, make_data, runs=runs, random_seed=random_seed, progressbar=progressbar)


def compare_coverage(
    data: AnnotationData,
    fits: Fits = MACE_BY_EM,
    *,
    coverages: Sequence[float] = COVERAGES,
    random_seed: int | None = None,
    progressbar: bool = True,
) -> pd.DataFrame:
    """Keep only the most certain items, by each method and by the share of votes: figure 4.

    Parameters
    ----------
    data : AnnotationData
        Data with gold.
    fits : mapping of name to mapping
        As in `vary_good_annotators`.
    coverages : sequence of float
        Shares of items to keep, in (0, 1], by increasing entropy; by default 0.05, 0.1, ..., 1.
    random_seed : int, optional
    progressbar : bool

    Returns
    -------
    pandas.DataFrame
        `method`, `coverage`, `n_items` kept, `accuracy`, `votes`, `problem`. The coverage of the vote cannot be chosen.
        It has one row for each share of votes that occurs for an item's commonest label (`votes`), and keeps the items
        with at least that share. Ties are split at random; "unsure" answers are not votes.

    Raises
    ------
    DataError
        If there is no gold.
    FitError
        If `fits` or a coverage is out of range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> table = ba.experiments.compare_coverage(data, coverages=[0.75, 1], random_seed=1, progressbar=False)
    >>> list(table.loc[table["method"] == "mace", "n_items"])
    [225, 300]
    """
    _check(data, "compare_coverage", random_seed)
    for coverage in coverages:
        check_coverage(coverage)
    check_fits(fits, data)
    tables = [_cover_by_votes(data)]
    for name, arguments in track(list(fits.items()), "fitting", show=progressbar):
        found, problem = try_fit(arguments, data, known_seed(random_seed))
        table = pd.DataFrame({"coverage": list(coverages)}) if found is None else coverage_table(found, coverages)
        tables.append(table.assign(method=name, problem=problem))
    columns = ["method", "coverage", "n_items", "accuracy", "votes", "problem"]
    return pd.concat([table.reindex(columns=columns) for table in tables], ignore_index=True)


def _check(data: AnnotationData, function: str, random_seed: int | None) -> None:
    require_kind(data, AnnotationData, function)
    check_seed(random_seed)
    if not (data.gold_codes >= 0).any():
        raise DataError(f"no gold label is known: read the data with a gold column, or with {option('gold_file')}")


def _cover_by_votes(data: AnnotationData) -> pd.DataFrame:
    vote, rows = majority_vote(data), []
    for votes in np.unique(vote["share"].dropna()):
        kept = vote[vote["share"] >= votes]
        coverage = len(kept) / len(vote)
        rows.append({"coverage": coverage, "n_items": len(kept), "accuracy": kept["right"].mean(), "votes": votes})
    return pd.DataFrame(rows).assign(method=VOTE, problem="")


def draw_annotations(data: AnnotationData, n: int, rng: np.random.Generator) -> AnnotationData:
    """Keep a number of annotations of each item, drawn at random, or all if there are fewer."""
    order = np.argsort(rng.random(data.n_annotations))
    place = pd.Series(order).groupby(data.item[order]).cumcount()  # of an answer among those of its item
    return take_rows(data, np.sort(order[place < n]))
