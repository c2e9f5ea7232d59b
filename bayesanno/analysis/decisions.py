"""What a user does with a fit: label new items, compare annotators, choose labels by their cost, draw labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesanno.analysis.labels import (
    check_dimension,
    competence_name,
    label_posterior,
    latent_of_dimension,
    tabulate_labels,
)
from bayesanno.data.annotations import AnnotationData
from bayesanno.data.dimensions import MultiAnnotationData
from bayesanno.fits.storage import data_of, fixed_of, model_of
from bayesanno.ground.errors import DataError, FitError
from bayesanno.modeling.posterior import draw_states, recover

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    import xarray


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
        If an annotator or a label is not among those of the fit, or the model cannot take the new items.
    FitError
        If the fit is not of annotations.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.predict(fit, ba.read_annotations("new_answers.csv"))  # doctest: +SKIP
    """
    known = data_of(fit)
    if not isinstance(known, AnnotationData):
        raise FitError(f"labels of new items cannot be predicted from {type(known).__name__} yet")
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
    entry = model_of(fit)
    entry.check(recoded)
    recovered = recover(entry, recoded, fit["posterior"].to_dataset(), fixed_of(fit))
    return tabulate_labels(recoded, recovered.latent)


def better_probability(
    fit: xarray.DataTree, annotators: Sequence[str] | None = None, *, dimension: str | None = None
) -> pd.DataFrame:
    """Return the posterior probability that one annotator is better than another.

    Parameters
    ----------
    fit : xarray.DataTree
    annotators : sequence of str, optional
        Whom to compare; everybody by default.
    dimension : str, optional
        In which dimension, where several were annotated together.

    Returns
    -------
    pandas.DataFrame
        Square, rows and columns are annotators: the probability that the row's competence is above the column's; 0.5
        on the diagonal.

    Raises
    ------
    FitError
        If the model has no competence, an annotator or the dimension is not in the fit, or which of several dimensions
        is meant is not said.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.better_probability(fit, ["ana", "bruno"]).loc["ana", "bruno"]  # doctest: +SKIP
    """
    import pandas as pd

    competence = fit["posterior"].to_dataset()[competence_name(fit)]
    check_dimension(data_of(fit), dimension)
    if dimension is not None:
        competence = competence.sel(dimension=dimension)
    everybody = [str(name) for name in competence["annotator"].values]
    chosen = everybody if annotators is None else list(annotators)
    for name in chosen:
        if name not in everybody:
            raise FitError(f"annotator {name!r} is not in this fit, which has {len(everybody)}, {everybody[0]!r} first")
    draws = competence.stack(sample=("chain", "draw")).transpose("annotator", "sample").values
    draws = draws[[everybody.index(name) for name in chosen]]  # (annotator, sample)
    above = np.array([(row > draws).mean(axis=1) + 0.5 * (row == draws).mean(axis=1) for row in draws])
    return pd.DataFrame(above, index=pd.Index(chosen, name="annotator"), columns=pd.Index(chosen, name="than"))


def low_competence(fit: xarray.DataTree, *, below: float = 0.5) -> pd.DataFrame:
    """Return the posterior probability that an annotator's competence is low.

    Of `diligent_lazy_annotators`, whose competence is diligence, that is the probability that an annotator answers
    lazily more often than not.

    Parameters
    ----------
    fit : xarray.DataTree
    below : float, default 0.5
        What competence is low below, between 0 and 1.

    Returns
    -------
    pandas.DataFrame
        One row per annotator, in the data's order: `annotator`, `n_annotations`, `probability`.

    Raises
    ------
    FitError
        If the model has no competence, or `below` is out of its range.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.low_competence(fit).query("probability > 0.5")  # doctest: +SKIP
    """
    import pandas as pd

    if not 0 < below < 1:
        raise FitError(f"below is {below}: it must be above 0 and below 1")
    data, competence = data_of(fit), fit["posterior"].to_dataset()[competence_name(fit)]
    if not isinstance(data, AnnotationData):
        raise FitError("competences of several dimensions are compared one dimension at a time: see annotator_table")
    return pd.DataFrame(
        {
            "annotator": pd.Series(list(data.annotators), dtype="str"),
            "n_annotations": np.bincount(data.annotator, minlength=data.n_annotators),
            "probability": (competence < below).mean(("chain", "draw")).values,
        }
    )


def cheapest_label(
    fit: xarray.DataTree,
    cost: pd.DataFrame | Mapping[str, Mapping[str, float]],
    *,
    dimension: str | None = None,
) -> pd.DataFrame:
    """Return, for each item, the label of least expected cost.

    Parameters
    ----------
    fit : xarray.DataTree
    cost : DataFrame or mapping of mappings
        `cost.loc[truth, answer]` (or `cost[truth][answer]`): what it costs to answer so when that is the truth. Every
        label of the fit is a row; columns may name further answers, such as "ask an expert".
    dimension : str, optional
        Of which dimension, where several were annotated together.

    Returns
    -------
    pandas.DataFrame
        One row per item: `item`, `label` (the cheapest answer), `expected_cost`, `cost[<answer>]` for each answer.

    Raises
    ------
    DataError
        If a row is missing, unknown, or a cost is not a finite number.
    FitError
        If the dimension is not in the fit, or which of several dimensions is meant is not said.

    Examples
    --------
    >>> import bayesanno as ba
    >>> cost = {"no": {"no": 0, "yes": 1, "ask": 0.2}, "yes": {"no": 5, "yes": 0, "ask": 0.2}}
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> ba.cheapest_label(fit, cost)["label"].value_counts()  # doctest: +SKIP
    """
    import pandas as pd

    matrix = cost if isinstance(cost, pd.DataFrame) else pd.DataFrame(dict(cost)).T
    latent = fit["latent"].to_dataset()
    check_dimension(data_of(fit), dimension)
    probability = label_posterior(latent if dimension is None else latent_of_dimension(latent, dimension))
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
        The labels' indices, with dims (chain, draw, item); one more than the last where nobody said the true label, in
        models that know of such items.

    Raises
    ------
    FitError
        If the fit is of several dimensions.

    Examples
    --------
    >>> import bayesanno as ba
    >>> fit = ba.load("crowd")  # doctest: +SKIP
    >>> drawn = ba.label_draws(fit, random_seed=1)  # doctest: +SKIP
    >>> (drawn.sel(item="q001") == drawn.sel(item="q002")).mean()  # P(same label)  # doctest: +SKIP
    """
    entry, data, draws = model_of(fit), data_of(fit), fit["posterior"].to_dataset()
    if isinstance(data, MultiAnnotationData):
        raise FitError("labels of several dimensions together cannot be drawn yet: take label_table, or fit them apart")
    return draw_states(entry, data, draws, known=fixed_of(fit), random_seed=random_seed)
