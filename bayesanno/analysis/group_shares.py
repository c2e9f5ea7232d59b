"""Comparison of groups of items, such as the outputs of several systems, by their shares of true labels.

Generative process, for one draw of a fit with prevalence `pi` and p(answers_i | k) for item i:

    sqrt(rho)  ~ Uniform(0, 1),  c = (1 - rho) / rho     how far groups differ: rho is the share of the variance of an
                                                         item's class that is between groups
    theta_g    ~ Dirichlet(c pi)                         the prevalence of group g
    C_i        ~ Categorical(theta_g(i)),  answers_i ~ p(answers_i | C_i)

C, theta and c are drawn by Gibbs sampling, theta from its full conditional and c with theta integrated out.

The invariant: items with a known true label count with it. For all others a label is drawn in each draw of the fit, so
that shares and their differences include the uncertainty of items and annotators. This takes the model as right;
`bayesanno.analysis.prediction_powered` does not.

The invariant: pi and p(answers_i | k) are those of the draw. The prevalences of groups do not inform the annotators,
who were learnt with the common prevalence (a cut model, Plummer 2015, doi:10.1007/s11222-014-9503-z).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import batched, cycle
from typing import Any

import numpy as np

from bayesanno._core.intervals import choose_prob, find_bounds
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, PredictionWarning, counted, listed, option, spell, warn
from bayesanno._core.validate import check_choice, check_seed
from bayesanno.analysis.grades import ROUNDED, find_grades, order_classes
from bayesanno.analysis.parameters import describe_draws
from bayesanno.analysis.prediction_powered import draw_powered
from bayesanno.analysis.ranking import describe_ranks
from bayesanno.analysis.recalibrate import each_posterior
from bayesanno.analysis.rogan_gladen import draw_corrected, draw_judged
from bayesanno.analysis.views import view_for_table
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.labelled import Codes
from bayesanno.fits.view import ADJUSTMENT, RECALIBRATION, FitPart, FitView, part_of
from bayesanno.graph.functions import stack_samples
from bayesanno.inference.diagnosis.findings import SHARED, read_findings
from bayesanno.inference.tempering import temperings_of
from bayesanno.modeling.arguments import MEAN, require_latents
from bayesanno.modeling.class_prior import class_prior_of, column_of
from bayesanno.modeling.posterior import compile_formula, draw_codes


def read_groups(groups: Any, what: str, *, where: str = "groups") -> pd.Series[str]:
    """Return the group of each item or annotator (`what`), by name.

    Raises
    ------
    DataError
        If the groups are not a mapping, Series or table, or a member has two groups. The message calls them `where`.
    """
    if isinstance(groups, pd.DataFrame):
        lacking = [column for column in (what, "group") if column not in groups]
        if lacking:
            raise DataError(f"{where} has no column {lacking[0]!r}: a table of groups has {what} and group")
        groups = groups.drop_duplicates([what, "group"]).set_index(what)["group"]
    if not isinstance(groups, Mapping | pd.Series):
        raise DataError(f"{where} is {type(groups).__name__}: give the group of each {what} by name, as in a dict")
    named = pd.Series(groups, dtype=object).dropna()
    named.index = named.index.map(str)
    twice = named.index[named.index.duplicated()]
    if len(twice):
        raise DataError(f"{where}: {what} {twice[0]!r} has two groups: give one group per {what}")
    return named.map(str)


N_RISES = 200  # EM steps towards the mode of the prevalences, where the first sweep starts
N_SWEEPS = 25  # Gibbs sweeps; the last one is kept
LEAST = -700.0  # lower bound for log likelihoods
GRID = (np.arange(24) + 0.5) / 24  # sqrt(rho)


def draw_with_own_prevalence(
    log_likelihood: np.ndarray,
    log_prevalence: np.ndarray,
    codes: np.ndarray,
    known: np.ndarray,
    rng: np.random.Generator,
    *,
    n_sweeps: int = N_SWEEPS,
) -> np.ndarray:
    """Draw the class of every item in every draw of a fit, with a separate prevalence for each group of items.

    Parameters
    ----------
    log_likelihood : array, shape (sample, item, class)
        Log p(the item's answers | its class), up to a constant for each item.
    log_prevalence : array, shape (sample, class)
    codes : array of int, shape (item,)
        The group of each item, 0 to G - 1, none of them empty.
    known : array of int, shape (item,)
        The class of items with a known class, -1 for all others.
    rng : Generator
    n_sweeps : int, default 25

    Returns
    -------
    array of int, shape (sample, item)
    """
    order = np.argsort(codes, kind="stable")  # items of a group are neighbours
    begin = np.searchsorted(codes[order], np.arange(codes.max() + 1))  # (group,)
    is_class = known[order, None] == np.arange(log_likelihood.shape[2])  # (item, class)
    log_likelihood = np.where(known[order, None] >= 0, np.where(is_class, 0.0, LEAST), log_likelihood[:, order])
    log_likelihood = (log_likelihood - log_likelihood.max(axis=2, keepdims=True)).clip(LEAST)
    pi = np.exp(log_prevalence)[:, None].clip(1e-12)  # (sample, 1, class)
    of_item = codes[order]
    start = _rise(np.exp(log_likelihood).mean(axis=0), pi.mean(axis=0), begin, of_item)  # (group, class)
    theta = np.repeat(start[None], len(pi), axis=0)  # (sample, group, class)
    likelihood = np.ascontiguousarray(np.exp(log_likelihood).transpose(2, 0, 1))  # (class, sample, item)

    drawn = np.empty(likelihood.shape[1:], dtype=int)
    for _ in range(n_sweeps):
        drawn = _draw_classes(likelihood, theta.transpose(2, 0, 1), of_item, rng)
        counts = np.stack([np.add.reduceat(drawn == k, begin, axis=1, dtype=int) for k in range(pi.shape[2])], axis=2)
        theta = rng.standard_gamma(_draw_concentration(counts, pi, rng)[:, None, None] * pi + counts)
        theta = theta.clip(np.finfo(float).tiny)
        theta /= theta.sum(axis=2, keepdims=True)
    back = np.empty_like(drawn)
    back[:, order] = drawn
    return back


def _draw_classes(
    likelihood: np.ndarray, theta: np.ndarray, of_item: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw classes (sample, item) from likelihoods (class, sample, item) and prevalences (class, sample, group)."""
    below = np.empty_like(likelihood)
    np.multiply(likelihood[0], theta[0][:, of_item], out=below[0])
    for k in range(1, len(below)):
        np.multiply(likelihood[k], theta[k][:, of_item], out=below[k])
        below[k] += below[k - 1]
    u = rng.uniform(size=below.shape[1:]) * below[-1]
    drawn = np.zeros(u.shape, dtype=int)
    for k in range(len(below) - 1):
        drawn += u >= below[k]
    return drawn


def _rise(likelihood: np.ndarray, pi: np.ndarray, begin: np.ndarray, of_item: np.ndarray) -> np.ndarray:
    """Return prevalences (group, class) near their mode, by EM with c = 1, for one likelihood (item, class)."""
    theta = np.repeat(pi, begin.size, axis=0)
    for _ in range(N_RISES):
        p = likelihood * theta[of_item]
        p /= p.sum(axis=1, keepdims=True).clip(np.finfo(float).tiny)
        theta = np.add.reduceat(p, begin, axis=0) + pi
        theta /= theta.sum(axis=1, keepdims=True)
    return theta


def _draw_concentration(counts: np.ndarray, pi: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw c given the classes of items, counts (sample, group, class); shape (sample,)."""
    from scipy.special import gammaln

    concentration = 1 / GRID**2 - 1  # (point,)
    log_p = np.empty((len(counts), GRID.size))  # (sample, point)
    n_groups, total = counts.shape[1], counts[0].sum(axis=1)  # (group,)
    for point, c in enumerate(concentration):
        own = gammaln(c * pi + counts).sum(axis=(1, 2)) - n_groups * gammaln(c * pi).sum(axis=(1, 2))
        log_p[:, point] = own + (gammaln(c) - gammaln(c + total)).sum()
    return np.asarray(concentration[draw_codes(np.exp(log_p - log_p.max(axis=1, keepdims=True)), rng)])


type Groups = str | Mapping[str, str] | pd.Series[str] | pd.DataFrame

LEAST_DRAWS = 1000  # draws of labels: if a fit has fewer draws, several per draw
BLOCK_BYTES = 32 * 2**20  # log probabilities in memory at a time
PRIOR_COUNT = 0.5  # per label, if items are a sample of many (Jeffreys' prior)
DIGITS = 12  # of shares, so that equal shares are equal numbers
LEAST_KNOWN = 5  # known labels of a group, for prediction-powered rows
MODEL, POWERED = "model", "ppi"  # the sources of rows
OUTSIDE = "outside_ppi"


def group_table(
    fit: xr.DataTree | FitView,
    groups: Groups,
    *,
    label: str | None = None,
    differences: bool = False,
    at_large: bool = False,
    use_gold: bool = True,
    ci_prob: float | None = None,
    order: str | Sequence[str] | None = None,
    dimension: str | None = None,
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Return the share of a label among the items of each group, with ranks, or the differences between groups.

    Groups are, for instance, the systems that produced the items. Of two labels the share is that of the last one, the
    positive label; of more labels each has its rows.

    Rows of the source "model" take the model as right: their intervals hold under this condition. A label of each item
    is drawn in every draw of the fit, and shares are counted, so intervals include the uncertainty of items and
    annotators. Items with a known true label count with that label. In a recalibrated fit, labels are drawn from the
    recalibrated probabilities: each draw uses one temperature and its shifts, and the mean over draws of annotators.

    A model has one prevalence for all items, which pulls groups towards each other if answers are not informative. So
    each group gets its own prevalence here, drawn around the common one with a learnt spread between groups
    (`bayesanno.analysis.group_shares` has the model). The annotators are those of the fit. If the model has no
    prevalence, or the fit has a class prior, labels are drawn from the fit's own probabilities; the class prior should
    then include the groups: `Columns("(1 | system)")`.

    Rows of the source "ppi" are there if every group has five known true labels. They are prediction-powered: the known
    labels correct the model's probabilities for all items (`bayesanno.analysis.prediction_powered` has the
    formulas). They hold for any errors of the model, also if judges err together or favour a system, if the items with
    a known label are a random sample of their group. They come first; where rows of the model differ, believe these.
    There are none if the fit had controls, since its probabilities then used the known labels. With these rows, two
    labels and `at_large` also have "judged", the share of answers, and "corrected", as in `rate_table`.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit of any model that gives labels, or values.
    groups : str, mapping of item to group, Series or DataFrame
        The group of every item of the fit; a str names a column of its items, and a DataFrame has the columns item and
        group. Other items are ignored.
    label : str, optional
        The only label whose share is given.
    differences : bool, default False
        Whether to return the differences between each two groups instead.
    at_large : bool, default False
        Whether the shares refer to all possible items of a group, such as all outputs of a system, with its items as a
        random sample. By default they refer to the items of the fit, and intervals are narrower.
    use_gold : bool, default True
        Whether items with gold count with their gold label. Otherwise only controls count with their known label, and
        no row is prediction-powered.
    ci_prob
        As in `summary`. Intervals have equal tails, since shares are discrete.
    order : str or sequence of str, optional
        The labels from the lowest to the highest, for expected grades; by default as declared, or as numbers.
    dimension : str, optional
        The dimension, for data with several dimensions.
    random_seed : int, optional

    Returns
    -------
    pandas.DataFrame
        For each label one row per group, in the order of the first rows' shares: `group`; `source`, "ppi", "model",
        "judged" or "corrected"; `quantity`, "share" or "grade"; `label`, empty for grades; `mean`, `sd`, `eti89_lb` and
        `eti89_ub`; the rank, `rank_mean`, `rank_eti89_lb` and `rank_eti89_ub`, where 1 has the largest share; `p_best`,
        the probability of having the largest share, with ties divided; `n_items`; and `n_known`, how many of these
        count with their known label. Where there are rows of "ppi", `outside_ppi` is whether the mean is outside the
        interval of that row. Three or more ordered labels also have rows for the mean grade (as in `grade_table`).

        Differences have a row for each two groups: `first` and `second`, in the same order, with values for first minus
        second; the other columns as above, without ranks; `p_above`, the probability that first has more than second,
        with equal values counted half; and `n_items` and `n_known` of both groups.

    Raises
    ------
    DataError
        If an item has no group or two, a group has no items, a gold label to be used is not among the labels, there is
        no such label, the order of the labels is invalid, or there is no such interval.
    FitError
        If the model gives no labels, the fit holds no items, or it has several dimensions and none is named.

    Warns
    -----
    PredictionWarning
        If the fit is a point estimate, as by EM, since intervals then ignore the uncertainty about annotators; if a fit
        with a class prior was recalibrated, or errors of annotators correlate and no group has known labels, since
        intervals may be too narrow.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> fit = ba.fit("one_coin", data, method="vb", check=False, random_seed=1, progressbar=False)
    >>> system = {item: "old" if number < 150 else "new" for number, item in enumerate(data.items)}
    >>> table = ba.group_table(fit, system, use_gold=False, random_seed=1)
    >>> table.query("group == 'new'")["label"].tolist()
    ['billing', 'delivery', 'other', 'quality']
    """
    check_seed(random_seed)
    ci_prob = choose_prob(ci_prob)
    view = view_for_table(fit, from_draws=True)
    part = part_of(view, dimension)
    data, of_values = part.data, part.kind == "values"
    if not of_values:
        require_latents(view.model, view.data, "labels", "group_table")
        if part.states != list(data.classes):
            raise FitError(f"{view.model.name} gives no labels, and so no shares of them")
    codes, names = code_items(read_column(groups, data) if isinstance(groups, str) else groups, data.items)
    quantities = {"": np.ones(1)} if of_values else _find_quantities(part, label, order)
    known = _find_known_values(data, use_gold=use_gold) if of_values else find_known(data, use_gold=use_gold)
    is_known = np.isfinite(known[:, 0]) if of_values else known >= 0
    sizes = np.stack([np.bincount(codes), np.bincount(codes, weights=is_known)], axis=1).astype(int)  # (group, 2)
    is_powered = use_gold and not data.controls and bool((sizes[:, 1] >= LEAST_KNOWN).all())
    if not isinstance(fit, FitView):
        for problem in _explain_limits(view, part, is_powered=is_powered):
            warn(problem, PredictionWarning)

    rng, worth = np.random.default_rng(random_seed), np.stack([*quantities.values()], axis=1)  # (class, quantity)
    if of_values:
        found = {MODEL: _draw_mean_values(view, part, codes, known[:, 0], rng, at_large=at_large)}
        if is_powered:
            own, ends = part.latent[MEAN].values[:, None], data.scale
            found = {POWERED: draw_powered(known, own, codes, worth, rng, at_large=at_large, ends=ends)} | found
    else:
        blocks = _draw_labels(view, part, codes, known, rng)
        counts = np.concatenate([_count(drawn, codes, data.n_classes) for drawn in blocks])  # (sample, group, class)
        if at_large:
            counts = rng.standard_gamma(counts + PRIOR_COUNT)
        found = {MODEL: (counts / counts.sum(axis=2, keepdims=True)) @ worth}  # (sample, group, quantity)
    if is_powered and not of_values:
        own = part.of_model.posterior.values  # without what was learnt from gold
        found = {POWERED: draw_powered(known, own, codes, worth, rng, at_large=at_large)} | found
        if at_large and data.n_classes == 2:
            sure = data.without_unsure()
            for source, shares in (
                ("judged", draw_judged(sure, 1, codes, rng)),
                ("corrected", draw_corrected(sure, 1, codes, known, rng)),
            ):
                found[source] = np.stack([1 - shares, shares], axis=-1) @ worth

    tables, unnamed = [], "value" if of_values else "grade"
    for quantity, name in enumerate(quantities):
        ranked = np.argsort(-next(iter(found.values()))[:, :, quantity].mean(axis=0), kind="stable")
        rows = ranked[np.transpose(np.triu_indices(len(names), 1))] if differences else ranked[:, None]  # (row, side)
        sides = dict(zip(("first", "second") if differences else ("group",), np.array(names)[rows].T, strict=True))
        for source, draws in found.items():
            column = sides | {"source": source, "quantity": "share" if name else unnamed, "label": name}
            values = draws[:, rows.T, quantity]  # (sample, side, row)
            table = pd.DataFrame(column, dtype="str").assign(**_describe_rows(values, ci_prob))
            if source == POWERED:  # the first
                low, high = (table[name] for name in find_bounds(table)[:2])
            if is_powered:
                table[OUTSIDE] = ~table["mean"].between(low, high)
            tables.append(table.assign(**dict(zip(("n_items", "n_known"), sizes[rows].sum(axis=1).T, strict=True))))
    return pd.concat(tables, ignore_index=True)


def _describe_rows(values: np.ndarray, ci_prob: float) -> dict[str, np.ndarray]:
    """Return the columns with numbers, from draws (sample, side, row) of groups (one side) or of pairs (two)."""
    draws = values[:, 0] - values[:, 1] if values.shape[1] == 2 else values[:, 0]  # (sample, row)
    found = describe_draws(xr.DataArray(draws[None], dims=("chain", "draw", "row")), ci_prob, "eti")
    found["sd"] = (draws - draws[0]).std(axis=0, ddof=1)  # 0 where all draws are equal
    if values.shape[1] == 1:
        return found | describe_ranks(np.round(draws, DIGITS), ci_prob)  # so that equal shares tie
    return found | {"p_above": ((draws > ROUNDED) + 0.5 * (np.abs(draws) <= ROUNDED)).mean(axis=0)}


# ---------------------------------------------------------------------------------------------- what is given


def code_items(groups: Any, items: Sequence[str], *, where: str = "groups") -> tuple[np.ndarray, list[str]]:
    """Return the group of each item, (item,), and the names of groups in order of appearance among the items.

    Messages call the groups `where`.

    Raises
    ------
    DataError
        If the groups cannot be read, an item has no group or two, or a group has no items.
    """
    named = read_groups(groups, "item", where=where)
    own = named.reindex(list(items))
    if own.isna().all():
        has = f"has {counted(len(named), 'other')}, as {named.index[0]!r}" if len(named) else "names none"
        raise DataError(f"{where} has no item of the fit, such as {items[0]!r}, and {has}: give the group of each item")
    without = own.index[own.isna()]
    if len(without):
        more = f" (as {len(without) - 1:,} more)" if len(without) > 1 else ""
        raise DataError(f"{where}: item {without[0]!r}{more} is in no group: give the group of every item of the fit")
    empty = [name for name in named.unique() if name not in set(own)]
    if empty:
        raise DataError(f"{where}: group {empty[0]!r} has no item of the fit: leave it out")
    codes, names = pd.factorize(own)
    return codes, list(names)


def read_column(name: str, data: AnnotationData) -> dict[str, str]:
    """Return the values in a column of the items, by item.

    Raises
    ------
    DataError
        If there is no such column.
    """
    return dict(zip(data.items, column_of(data, name, "a table of groups").names, strict=True))


def _find_quantities(part: FitPart, label: str | None, order: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Return the value of each class, (class,), in each quantity: the share of a label, by its name, and "", the grade.

    Raises
    ------
    DataError
        If the label is not among the classes, or the order is not one of them.
    """
    names, has_order = part.data.classes, order is not None or part.data.labels_are_ordered
    if has_order:
        names = order_classes(part.data, order, part.dimension)
    if label is not None:
        check_choice(f"label is {label!r}", label, names, DataError)
    grade = dict(zip(names, find_grades(names), strict=True))
    chosen = part.data.classes if label is None and len(names) > 2 else (label or names[-1],)
    found = {name: np.array([float(one == name) for one in part.data.classes]) for name in chosen}
    if has_order and len(chosen) > 1:
        found[""] = np.array([grade[one] for one in part.data.classes])
    return found


def _find_known_values(data: Any, *, use_gold: bool) -> np.ndarray:
    """Return the known true value of each item, (item, 1); nan if unknown."""
    known = np.where(np.isfinite(data.known_values), data.known_values, np.nan)
    return (np.where(np.isfinite(known), known, data.gold_values) if use_gold else known)[:, None]


def _draw_mean_values(
    view: FitView, part: FitPart, codes: np.ndarray, known: np.ndarray, rng: np.random.Generator, *, at_large: bool
) -> np.ndarray:
    """Draw the mean value of each group, (sample, group, 1), of its items or, `at_large`, of all possible ones."""
    formula = compile_formula(view.model, view.data, view.posterior, view.known)
    drawn = formula.draw_numbers(part.dimension, rng).stack(sample=("chain", "draw")).transpose("sample", "item").values
    drawn = np.where(np.isfinite(known), known, drawn)
    weight = rng.standard_exponential(drawn.shape) if at_large else np.ones(drawn.shape)  # the Bayesian bootstrap
    member = np.eye(int(codes.max()) + 1)[codes]  # (item, group)
    return (((weight * drawn) @ member) / (weight @ member))[:, :, None]


def _explain_limits(view: FitView, part: FitPart, *, is_powered: bool) -> Iterator[str]:
    """Explain why the intervals of the model's rows may be too narrow."""
    if view.yields == "point" and not view.is_recalibrated:
        yield (
            f"this fit by {view.tree.attrs['method']} is one point: the intervals ignore the uncertainty about "
            "annotators; fit by nuts for intervals that include it"
        )
    is_recalibrated = part.dimension in temperings_of(view, RECALIBRATION)
    if class_prior_of(view.model) is not None and is_recalibrated:
        yield (
            "this recalibrated fit has a class prior: if annotators err together, groups are pulled towards each other "
            "and their intervals are too narrow; recalibrate a fit without a class prior"
        )
    is_shared = any(one.code in (*SHARED, "errors-correlate") for one in read_findings(view))
    if is_shared and not is_powered and not is_recalibrated:
        yield (
            "annotators err together, so intervals of shares may be too narrow: give the true labels of some items of "
            "each group, drawn at random (gold)"
        )


def find_known(data: AnnotationData, *, use_gold: bool = True) -> Codes:
    """Return the known class of each item, (item,); -1 if unknown.

    Raises
    ------
    DataError
        If a gold label that is to be used is not among the labels.
    """
    if not use_gold:
        return data.control_codes
    strange = next((item for item in data.items if item in data.gold and data.gold[item] not in data.classes), None)
    if strange is not None:
        raise DataError(
            f"gold label {data.gold[strange]!r} of item {strange!r} is not among the labels {listed(data.classes)}, "
            f"so its group has no share of it: declare it with {option('labels')} when reading the annotations, or "
            f"leave gold out with {spell('use_gold=False', '--ignore-gold')}"
        )
    return data.known_codes


# -------------------------------------------------------------------------------------------------- the draws


def _draw_labels(
    view: FitView, part: FitPart, codes: np.ndarray, known: np.ndarray, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield blocks of draws of the class of each item, (sample, item); groups may have their own prevalences."""
    has_own = (
        class_prior_of(view.model) is None and "true_class" in view.posterior.get("prevalence", xr.DataArray()).dims
    )
    n_draws = view.posterior.sizes["chain"] * view.posterior.sizes["draw"]
    of_draws = each_posterior(view, part, n_draws * -(-LEAST_DRAWS // n_draws), rng)
    prevalences = cycle(_log_prevalences(view) if has_own else [None])
    pairs = zip(of_draws, prevalences, strict=False)
    adjustment = temperings_of(view, ADJUSTMENT).get(part.dimension)
    prior_of_vote = 0.0 if adjustment is None else adjustment.log_vote_prior
    for block in batched(pairs, max(1, BLOCK_BYTES // (8 * part.data.n_items * part.data.n_classes))):
        logs = np.stack([logs for (logs, *_), _ in block])  # (sample, item, class)
        if not has_own:
            yield np.where(known >= 0, known, draw_codes(np.exp(logs), rng))
            continue
        votes = np.stack([votes for (*_, votes), _ in block])  # (sample, item)
        means = [
            prevalence if is_own else np.log(np.exp(logs[~votes]).mean(axis=0).clip(1e-300))
            for (logs, is_own, votes), prevalence in block
        ]
        centre = np.stack(means)  # (sample, class)
        evidence = logs - np.where(votes[:, :, None], prior_of_vote, centre[:, None])
        yield draw_with_own_prevalence(evidence, centre, codes, known, rng)


def _log_prevalences(view: FitView) -> np.ndarray:
    """Return the log prevalence in each draw, (sample, class)."""
    return np.log(stack_samples(view.posterior[["prevalence"]])["prevalence"].clip(1e-300))


def _count(drawn: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the numbers of items by group and class, (sample, group, class), from draws (sample, item)."""
    n_groups = int(codes.max()) + 1
    cell = (np.arange(len(drawn))[:, None] * n_groups + codes) * n_classes + drawn
    return np.bincount(cell.ravel(), minlength=len(drawn) * n_groups * n_classes).reshape(-1, n_groups, n_classes)
