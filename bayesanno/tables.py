"""What a user reads: tables of labels, annotators and parameters, all from the fit alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.data import AnnotationData
from bayesanno.errors import DataError, FitError
from bayesanno.latent import draw_states, recover
from bayesanno.storage import data_of, model_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    import xarray

HDI_PROB = 0.94


def label_table(fit: xarray.DataTree, *, coverage: float | None = None) -> pd.DataFrame:
    """Return the posterior of each item's true label.

    Parameters
    ----------
    fit : xarray.DataTree
    coverage : float, optional
        In (0, 1]: the share of items to keep, those of least entropy; adds the column `kept`.

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`, `label` (the most probable one), `probability` (of that label),
        `entropy` (nats), `n_annotations`, `p[<label>]` for each label, `gold` where any is known, `kept`.

    Raises
    ------
    FitError
        If the coverage is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.label_table(fit, coverage=0.9).query("not kept")  # doctest: +SKIP
    """
    return _label_table(data_of(fit), fit["latent"].to_dataset(), coverage)


def _label_table(data: AnnotationData, latent: xarray.Dataset, coverage: float | None) -> pd.DataFrame:
    import pandas as pd

    check_coverage(coverage)
    state_dim = latent["probability"].dims[1]
    states = [str(state) for state in latent[state_dim].values]
    probability = latent["probability"].values  # (item, state)
    best = probability.argmax(axis=1)
    table = pd.DataFrame(
        {
            "item": pd.Series(list(data.items), dtype="str"),
            "label": pd.Series([states[state] for state in best], dtype="str"),
            "probability": probability.max(axis=1),
            "entropy": latent["entropy"].values,
            "n_annotations": np.bincount(data.item, minlength=data.n_items),
        }
    )
    for code, state in enumerate(states):
        table[f"p[{state}]"] = probability[:, code]
    if data.gold:
        table["gold"] = pd.Series([data.gold.get(item, "") for item in data.items], dtype="str")
    if coverage is not None:
        order = np.argsort(table["entropy"].to_numpy(), kind="stable")
        kept = np.zeros(len(table), dtype=bool)
        kept[order[: n_kept(len(table), coverage)]] = True
        table["kept"] = kept
    return table


def check_coverage(coverage: float | None) -> None:
    """Raise a FitError unless the coverage, if there is one, is a share of items."""
    if coverage is not None and not 0 < coverage <= 1:
        raise FitError(f"coverage is {coverage}: it must be above 0 and at most 1")


def n_kept(n_items: int, coverage: float) -> int:
    """Return how many items a coverage keeps: at least one, and rounded to the nearest.

    Examples
    --------
    >>> from bayesanno.tables import n_kept
    >>> n_kept(800, 0.9)
    720
    """
    return max(1, round(coverage * n_items))


def annotator_table(fit: xarray.DataTree) -> pd.DataFrame:
    """Return the posterior of each annotator's competence, in the model's own notion of it.

    Returns
    -------
    pandas.DataFrame
        One row per annotator, in the data's order: `annotator`, `n_annotations`, `competence_mean`, `competence_sd`,
        `competence_hdi_low`, `competence_hdi_high` (94%), `competence_ess` (bulk), `competence_rhat`.

    Raises
    ------
    FitError
        If the model has no competence.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.annotator_table(fit).sort_values("competence_mean").head(3)  # doctest: +SKIP
    """
    import arviz_stats as azs
    import pandas as pd

    data, name = data_of(fit), _competence_name(fit)
    competence = fit["posterior"].to_dataset()[[name]]
    several = competence.sizes["chain"] > 1
    interval = azs.hdi(competence, prob=HDI_PROB)[name]
    rhat = azs.rhat(competence)[name].values if several else np.full(data.n_annotators, np.nan)
    return pd.DataFrame(
        {
            "annotator": pd.Series(list(data.annotators), dtype="str"),
            "n_annotations": np.bincount(data.annotator, minlength=data.n_annotators),
            "competence_mean": competence[name].mean(("chain", "draw")).values,
            "competence_sd": competence[name].std(("chain", "draw"), ddof=1).values,
            "competence_hdi_low": interval.sel(ci_bound="lower").values,
            "competence_hdi_high": interval.sel(ci_bound="upper").values,
            "competence_ess": azs.ess(competence)[name].values,
            "competence_rhat": rhat,
        }
    )


def has_competence(fit: xarray.DataTree) -> bool:
    """Tell whether the model of a fit has a competence of annotators."""
    return model_of(fit).competence is not None


def parameter_table(fit: xarray.DataTree, var_names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return ArviZ's summary of the parameters, unrounded.

    Parameters
    ----------
    fit : xarray.DataTree
    var_names : sequence of str, optional
        The variables to report; all by default.

    Returns
    -------
    pandas.DataFrame
        One row per parameter: `parameter`, `mean`, `sd`, `hdi94_lb`, `hdi94_ub`, `ess_bulk`, `ess_tail`, `r_hat`.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.parameter_table(fit).nlargest(5, "r_hat")  # doctest: +SKIP
    """
    import arviz_stats as azs

    table: pd.DataFrame = azs.summary(fit, var_names=var_names, ci_prob=HDI_PROB, ci_kind="hdi", round_to="none")
    columns = ["mean", "sd", "hdi94_lb", "hdi94_ub", "ess_bulk", "ess_tail", "r_hat"]
    return table.reindex(columns=columns).rename_axis("parameter").reset_index()


def coverage_table(fit: xarray.DataTree, coverages: Sequence[float] | None = None) -> pd.DataFrame:
    """Return how accurate the labels are when only the surest items are kept.

    Items are kept by increasing entropy; accuracy is over the kept items whose gold label is known.

    Parameters
    ----------
    fit : xarray.DataTree
    coverages : sequence of float, optional
        Shares of items in (0, 1]; by default 0.05, 0.1, ..., 1.

    Returns
    -------
    pandas.DataFrame
        One row per coverage: `coverage`, `n_items` kept, `max_entropy` among them (nats), `n_gold`, `accuracy`.

    Raises
    ------
    FitError
        If no gold label is known, or a coverage is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.coverage_table(fit, [0.75, 0.9, 1])  # doctest: +SKIP
    """
    import pandas as pd

    labels = label_table(fit)
    if "gold" not in labels:
        raise FitError("no gold label is known: read the data with a gold column, or gold_file (--gold-file)")
    ordered = labels.iloc[np.argsort(labels["entropy"].to_numpy(), kind="stable")]
    known = (ordered["gold"] != "").to_numpy()
    right = (ordered["gold"] == ordered["label"]).to_numpy()
    rows = []
    for coverage in np.arange(1, 21) / 20 if coverages is None else coverages:
        check_coverage(coverage)
        n = n_kept(len(ordered), coverage)
        n_gold = int(known[:n].sum())
        rows.append(
            {
                "coverage": float(coverage),
                "n_items": n,
                "max_entropy": float(ordered["entropy"].iloc[n - 1]),
                "n_gold": n_gold,
                "accuracy": float(right[:n].sum() / n_gold) if n_gold else np.nan,
            }
        )
    return pd.DataFrame(rows)


def predict(fit: xarray.DataTree, new_data: AnnotationData) -> pd.DataFrame:
    """Return the posterior of the true labels of new items, answered by annotators of the fit.

    The annotators' parameters keep their posterior: the new answers do not update them.

    Parameters
    ----------
    fit : xarray.DataTree
    new_data : AnnotationData
        New items; a subset of the fit's annotators, and labels among the fit's.

    Returns
    -------
    pandas.DataFrame
        As `label_table`.

    Raises
    ------
    DataError
        If an annotator or a label is not among those of the fit.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.predict(fit, ba.read_annotations("new_answers.csv"))  # doctest: +SKIP
    """
    known = data_of(fit)
    annotators = {name: code for code, name in enumerate(known.annotators)}
    labels = {name: code for code, name in enumerate(known.labels)}
    for what, names, among in (
        ("annotator", new_data.annotators, annotators),
        ("label", new_data.labels, labels),
    ):
        unknown = [name for name in names if name not in among]
        if unknown:
            raise DataError(
                f"{what} {unknown[0]!r} is not among the {len(among)} {what}s of this fit: "
                "leave those answers out, or fit again with them"
            )
    recoded = AnnotationData(
        item=new_data.item,
        annotator=np.array([annotators[name] for name in new_data.annotators])[new_data.annotator],
        label=np.array([labels[name] for name in new_data.labels])[new_data.label],
        items=new_data.items,
        annotators=known.annotators,
        labels=known.labels,
        gold=new_data.gold,
        controls=new_data.controls,
    )
    recovered = recover(model_of(fit), recoded, fit["posterior"].to_dataset())
    return _label_table(recoded, recovered.latent, None)


def better_probability(fit: xarray.DataTree, annotators: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the posterior probability that one annotator is better than another.

    Parameters
    ----------
    fit : xarray.DataTree
    annotators : sequence of str, optional
        Whom to compare; everybody by default.

    Returns
    -------
    pandas.DataFrame
        Square, rows and columns are annotators: the probability that the row's competence is above the column's; 0.5
        on the diagonal.

    Raises
    ------
    FitError
        If the model has no competence, or an annotator is not in the fit.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.better_probability(fit, ["ana", "bruno"]).loc["ana", "bruno"]  # doctest: +SKIP
    """
    import pandas as pd

    competence = fit["posterior"].to_dataset()[_competence_name(fit)]
    everybody = [str(name) for name in competence["annotator"].values]
    chosen = everybody if annotators is None else list(annotators)
    for name in chosen:
        if name not in everybody:
            raise FitError(f"annotator {name!r} is not in this fit, which has {len(everybody)}, {everybody[0]!r} first")
    draws = competence.stack(sample=("chain", "draw")).transpose("annotator", "sample").values
    draws = draws[[everybody.index(name) for name in chosen]]  # (annotator, sample)
    above = np.array([(row > draws).mean(axis=1) + 0.5 * (row == draws).mean(axis=1) for row in draws])
    return pd.DataFrame(above, index=pd.Index(chosen, name="annotator"), columns=pd.Index(chosen, name="than"))


def cheapest_label(fit: xarray.DataTree, cost: pd.DataFrame | Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return, for each item, the label of least expected cost.

    Parameters
    ----------
    fit : xarray.DataTree
    cost : DataFrame or mapping of mappings
        `cost.loc[truth, answer]` (or `cost[truth][answer]`): what it costs to answer so when that is the truth. Every
        label of the fit is a row; columns may name further answers, such as "ask an expert".

    Returns
    -------
    pandas.DataFrame
        One row per item: `item`, `label` (the cheapest answer), `expected_cost`, `cost[<answer>]` for each answer.

    Raises
    ------
    DataError
        If a row is missing, unknown, or a cost is not a finite number.

    Examples
    --------
    >>> import bayesanno as ba
    >>> cost = {"no": {"no": 0, "yes": 1, "ask": 0.2}, "yes": {"no": 5, "yes": 0, "ask": 0.2}}
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.cheapest_label(fit, cost)["label"].value_counts()  # doctest: +SKIP
    """
    import pandas as pd

    matrix = cost if isinstance(cost, pd.DataFrame) else pd.DataFrame(dict(cost)).T
    probability = fit["latent"].to_dataset()["probability"]
    states = [str(state) for state in probability[probability.dims[1]].values]
    rows = [str(name) for name in matrix.index]
    wrong = sorted(set(states) ^ set(rows))
    if wrong:
        raise DataError(f"the cost matrix must have one row per label ({', '.join(states)}): see {wrong[0]!r}")
    values = matrix.set_axis(rows, axis=0).loc[states].to_numpy(dtype=float)  # (state, answer)
    if not np.isfinite(values).all():
        raise DataError("the cost matrix must hold finite numbers: a cost is missing or infinite")
    expected = probability.values @ values  # (item, answer)
    answers = [str(name) for name in matrix.columns]
    table = pd.DataFrame(
        {
            "item": pd.Series([str(name) for name in probability["item"].values], dtype="str"),
            "label": pd.Series([answers[code] for code in expected.argmin(axis=1)], dtype="str"),
            "expected_cost": expected.min(axis=1),
        }
    )
    for code, answer in enumerate(answers):
        table[f"cost[{answer}]"] = expected[:, code]
    return table


def label_draws(fit: xarray.DataTree, *, random_seed: int | None = None) -> xarray.DataArray:
    """Draw every item's true label once per posterior draw, for whatever is not in a table.

    Returns
    -------
    xarray.DataArray
        The labels' indices, with dims (chain, draw, item).

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> drawn = ba.label_draws(fit, random_seed=1)  # doctest: +SKIP
    >>> (drawn.sel(item="q001") == drawn.sel(item="q002")).mean()  # P(same label)  # doctest: +SKIP
    """
    return draw_states(model_of(fit), data_of(fit), fit["posterior"].to_dataset(), random_seed=random_seed)


def score(fit: xarray.DataTree) -> dict[str, Any]:
    """Return accuracy against gold: over all items, and over the surest 90% and 75% of them; empty without gold."""
    if not data_of(fit).gold:
        return {}
    accuracy = coverage_table(fit, [1.0, 0.9, 0.75])["accuracy"]
    return dict(zip(("accuracy", "accuracy_at_90", "accuracy_at_75"), map(float, accuracy), strict=True))


def _competence_name(fit: xarray.DataTree) -> str:
    entry = model_of(fit)
    if entry.competence is None:
        raise FitError(f"{entry.name} has no competence of annotators")
    return entry.competence
