"""What a user reads: tables of labels, types, annotators, parameters and accuracy, all from the fit alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.data.annotations import CountData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.fits.view import view_of
from bayesanno.ground.errors import FitError
from bayesanno.ground.lazy import xr
from bayesanno.modeling.item_types import ItemTypeModel
from bayesanno.modeling.likelihood import count_states

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import xarray

    from bayesanno.data.annotations import AnnotationData
    from bayesanno.fits.view import FitView
    from bayesanno.modeling.data_kinds import Data

HDI_PROB = 0.94
OF_LATENT = ("probability", "probability_mcse", "entropy", "label_probability")  # one of each for each dimension


def label_table(fit: xarray.DataTree | FitView, *, coverage: float | None = None) -> pd.DataFrame:
    """Return the posterior of each item's true label, or of its type where the items of a model are of types.

    Parameters
    ----------
    fit : xarray.DataTree
    coverage : float, optional
        In (0, 1]: the share of items to keep, those of least entropy; adds the column `kept`.

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`, `label` (the most probable one), `probability` (of that label),
        `entropy` (nats), `n_annotations`, `p[<label>]` for each label, `gold` where any is known, `kept`. Models that
        know of items whose true label nobody said have `p_none_said`; that probability is spread over the labels not
        said. With several dimensions, one row per dimension and item, `dimension` first. Where items are of types:
        `item_type` (the most probable one) in place of `label`, `p[<type>]` for each type, and `hard`, the probability
        that the item is of the hard type. Of counts: `item`, `p[<type>]` for each type, `successes`, `trials`, `hard`,
        `kept`.

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
    import pandas as pd

    data, latent = view_of(fit).data, view_of(fit).latent
    if not isinstance(data, MultiAnnotationData):
        return tabulate_labels(data, latent, coverage)
    parts = {
        name: tabulate_labels(part, latent_of_dimension(latent, name), coverage)
        for name, part in data.by_dimension.items()
    }
    table = pd.concat(parts, names=["dimension", None]).reset_index(level="dimension").reset_index(drop=True)
    ending = [name for name in ("p_none_said", "gold", "kept") if name in table]
    return table[[name for name in table if name not in ending] + ending]


def latent_of_dimension(latent: xarray.Dataset, dimension: str) -> xarray.Dataset:
    """Return what is known of one dimension's states, under the names that it has where there is only one."""
    names = {f"{what}_{dimension}": what for what in OF_LATENT}
    return latent[list(names)].rename_vars(names)


def check_dimension(data: Data, dimension: str | None) -> None:
    """Raise a FitError unless the dimension is one of the data's, or None if they have none."""
    known = data.dimensions if isinstance(data, MultiAnnotationData) else (None,)
    if dimension not in known:
        there_are = "has no dimensions" if None in known else f"has dimensions {', '.join(map(str, known))}"
        raise FitError(f"this fit {there_are}, and dimension is {dimension!r}")


def label_posterior(latent: xarray.Dataset) -> xarray.DataArray:
    """Return the posterior of each item's true label, (item, label): the states', or the view that spells it out."""
    return latent["label_probability"] if "label_probability" in latent else latent["probability"]


def tabulate_labels(
    data: AnnotationData | CountData, latent: xarray.Dataset, coverage: float | None = None
) -> pd.DataFrame:
    """Return the label table of any posterior of states, of a fit's items or of new ones."""
    check_coverage(coverage)
    tabulate = _tabulate_types if isinstance(data, CountData) else _tabulate_classes
    table = tabulate(data, latent)  # type: ignore[arg-type]  # each takes what it is chosen for
    if coverage is not None:
        entropy = table["entropy"].to_numpy() if "entropy" in table else latent["entropy"].values
        order = np.argsort(entropy, kind="stable")
        kept = np.zeros(len(table), dtype=bool)
        kept[order[: n_kept(len(table), coverage)]] = True
        table["kept"] = kept
    return table


def _tabulate_types(data: CountData, latent: xarray.Dataset) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame({"item": pd.Series(list(data.items), dtype="str")})
    state_dim = latent["probability"].dims[1]
    for code, state in enumerate(latent[state_dim].values):
        table[f"p[{state}]"] = latent["probability"].values[:, code]
    table["successes"], table["trials"] = data.successes, data.trials
    if "hard" in latent:
        table["hard"] = latent["hard"].values
    return table


def _tabulate_classes(data: AnnotationData, latent: xarray.Dataset) -> pd.DataFrame:
    import pandas as pd
    from scipy.special import xlogy

    posterior = label_posterior(latent)
    states = [str(state) for state in posterior[posterior.dims[1]].values]
    probability = posterior.values  # (item, label)
    best = probability.argmax(axis=1)
    named = "item_type" if "item_type" in posterior.dims else "label"
    table = pd.DataFrame(
        {
            "item": pd.Series(list(data.items), dtype="str"),
            named: pd.Series([states[state] for state in best], dtype="str"),
            "probability": probability.max(axis=1),
            "entropy": -xlogy(probability, probability).sum(axis=1),
            "n_annotations": np.bincount(data.item, minlength=data.n_items),
        }
    )
    for code, state in enumerate(states):
        table[f"p[{state}]"] = probability[:, code]
    if "hard" in latent:
        table["hard"] = latent["hard"].values
    if "label_probability" in latent:  # its last state is that nobody said the truth
        table["p_none_said"] = latent["probability"].values[:, -1]
    if data.gold:
        table["gold"] = pd.Series([data.gold.get(item, "") for item in data.items], dtype="str")
    return table


def check_coverage(coverage: float | None) -> None:
    """Raise a FitError unless the coverage, if there is one, is a share of items."""
    if coverage is not None and not 0 < coverage <= 1:
        raise FitError(f"coverage is {coverage}: it must be above 0 and at most 1")


def n_kept(n_items: int, coverage: float) -> int:
    """Return how many items a coverage keeps: at least one, and rounded to the nearest.

    Examples
    --------
    >>> from bayesanno.analysis.labels import n_kept
    >>> n_kept(800, 0.9)
    720
    """
    return max(1, round(coverage * n_items))


def type_table(fit: xarray.DataTree | FitView) -> pd.DataFrame:
    """Return the posterior of each type of item: how many items are of it, and how they are answered.

    Parameters
    ----------
    fit : xarray.DataTree
        A fit of a model of item types, such as `binomial_mixture`.

    Returns
    -------
    pandas.DataFrame
        One row per type: `item_type`; of each parameter of types (`weight`, `rate`, ...) and of `expected_items`, the
        number of items of the type that the parameters and the answers lead one to expect, `<name>_mean`, `<name>_sd`,
        `<name>_hdi_low`, `<name>_hdi_high` (94%); and `hard`, the probability that it is the hard type: the one whose
        rate is nearest to one half.

    Raises
    ------
    FitError
        If the items of the model are not of types.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("types")  # doctest: +SKIP
    >>> ba.type_table(fit)[["item_type", "weight_mean", "rate_mean", "hard"]]  # doctest: +SKIP
    """
    import arviz_stats as azs
    import pandas as pd

    entry, data = view_of(fit).model, view_of(fit).data
    if not isinstance(entry, ItemTypeModel):
        raise FitError(f"the items of {entry.name} are not of types: read label_table(fit)")
    posterior, fixed = view_of(fit).posterior, view_of(fit).fixed
    found = {
        str(name): variable for name, variable in posterior.data_vars.items() if variable.dims[2:] == ("item_type",)
    }
    like = xr.zeros_like(posterior["chain"] + posterior["draw"], dtype=float)  # (chain, draw)
    for name, values in fixed.items():  # known, so that every draw has the same
        found[name] = like + xr.DataArray(values, dims="item_type", coords={"item_type": list(entry.states(data))})
    found = {name: found[name] for name in entry.parameter_names(data) if name in found}
    nearest = abs(entry.rate_of(found, data) - 0.5).argmin("item_type")  # (chain, draw)
    found["expected_items"] = count_states(entry, data, posterior, fixed)
    table: dict[str, Any] = {"item_type": pd.Series([str(name) for name in entry.states(data)], dtype="str")}
    for name, draws in found.items():
        interval = azs.hdi(draws.rename("of").to_dataset(), prob=HDI_PROB)["of"]
        table[f"{name}_mean"] = draws.mean(("chain", "draw")).values
        table[f"{name}_sd"] = draws.std(("chain", "draw"), ddof=1).values
        table[f"{name}_hdi_low"] = interval.sel(ci_bound="lower").values
        table[f"{name}_hdi_high"] = interval.sel(ci_bound="upper").values
    table["hard"] = [float((nearest == code).mean()) for code in range(entry.n_types)]
    return pd.DataFrame(table)


def annotator_table(fit: xarray.DataTree | FitView) -> pd.DataFrame:
    """Return the posterior of each annotator's competence, in the model's own notion of it.

    Returns
    -------
    pandas.DataFrame
        One row per annotator, in the data's order: `annotator`, `n_annotations`, `competence_mean`, `competence_sd`,
        `competence_hdi_low`, `competence_hdi_high` (94%), `competence_ess` (bulk), `competence_rhat`; the last two
        are missing for approximations. With several dimensions, one row per dimension and annotator, `dimension` first.

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
    import pandas as pd

    data, name = view_of(fit).data, competence_name(fit)
    competence = view_of(fit).posterior[[name]]
    if not isinstance(data, MultiAnnotationData):
        return _tabulate_competence(fit, data, competence.rename({name: "competence"}))
    parts = {
        dimension: _tabulate_competence(fit, part, competence.rename({name: "competence"}).sel(dimension=dimension))
        for dimension, part in data.by_dimension.items()
    }
    return pd.concat(parts, names=["dimension", None]).reset_index(level="dimension").reset_index(drop=True)


def _tabulate_competence(
    fit: xarray.DataTree | FitView, data: AnnotationData, competence: xarray.Dataset
) -> pd.DataFrame:
    import arviz_stats as azs
    import pandas as pd

    name = "competence"
    several = competence.sizes["chain"] > 1
    sampled = view_of(fit).yields == "mcmc"  # draws of an approximation are independent: no ESS, no R-hat
    interval = azs.hdi(competence, prob=HDI_PROB)[name]
    unknown = np.full(data.n_annotators, np.nan)
    return pd.DataFrame(
        {
            "annotator": pd.Series(list(data.annotators), dtype="str"),
            "n_annotations": np.bincount(data.annotator, minlength=data.n_annotators),
            "competence_mean": competence[name].mean(("chain", "draw")).values,
            "competence_sd": competence[name].std(("chain", "draw"), ddof=1).values,
            "competence_hdi_low": interval.sel(ci_bound="lower").values,
            "competence_hdi_high": interval.sel(ci_bound="upper").values,
            "competence_ess": azs.ess(competence)[name].values if sampled else unknown,
            "competence_rhat": azs.rhat(competence)[name].values if sampled and several else unknown,
        }
    )


def has_competence(fit: xarray.DataTree | FitView) -> bool:
    """Tell whether the model of a fit has a competence of annotators."""
    return view_of(fit).model.competence is not None


def parameter_table(fit: xarray.DataTree | FitView, var_names: Sequence[str] | None = None) -> pd.DataFrame:
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
    import pandas as pd

    posterior = view_of(fit).posterior
    chosen = [str(name) for name in posterior.data_vars] if var_names is None else list(var_names)
    # one variable at a time: of several, ArviZ 1.3 mixes up the rows of those whose dimensions come in another order
    options: dict[str, Any] = {"ci_prob": HDI_PROB, "ci_kind": "hdi", "round_to": "none"}
    table: pd.DataFrame = pd.concat([azs.summary(posterior[[name]], **options) for name in chosen])
    columns = ["mean", "sd", "hdi94_lb", "hdi94_ub", "ess_bulk", "ess_tail", "r_hat"]
    table = table.reindex(columns=columns).rename_axis("parameter").reset_index()
    if view_of(fit).yields != "mcmc":
        table[["ess_bulk", "ess_tail", "r_hat"]] = np.nan  # draws of an approximation are independent
    return table


def coverage_table(fit: xarray.DataTree | FitView, coverages: Sequence[float] | None = None) -> pd.DataFrame:
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
        If no gold label is known, the model tells types of items and not labels, or a coverage is out of its range.

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
    if "label" not in labels:
        raise FitError(f"{view_of(fit).model.name} says of what type items are, not what their labels are")
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


def score(fit: xarray.DataTree | FitView) -> dict[str, Any]:
    """Return accuracy against gold: over all items, and over the surest 90% and 75% of them; empty without gold."""
    # counts have no gold, and types of items are no labels
    if not getattr(view_of(fit).data, "gold", None) or view_of(fit).model.state_dim != "true_class":
        return {}
    accuracy = coverage_table(fit, [1.0, 0.9, 0.75])["accuracy"]
    return dict(zip(("accuracy", "accuracy_at_90", "accuracy_at_75"), map(float, accuracy), strict=True))


def competence_name(fit: xarray.DataTree | FitView) -> str:
    """Return the variable that the model of a fit calls competence, or raise a FitError."""
    entry = view_of(fit).model
    if entry.competence is None:
        raise FitError(f"{entry.name} has no competence of annotators")
    return entry.competence
