"""How much the prior matters: a model is refitted under every prior of a grid, and the decisions are compared.

The invariant: a row's fit, including its seed, depends only on the row, the data and the study's seed, not on the other
rows or on where it is computed. A row keeps numbers per item and per annotator, and no draws. A failed fit is a row
with the reason.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bayesanno._core.fields import as_typed
from bayesanno._core.files import write_whole
from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import FitError, ModelError, counted, show_rows
from bayesanno._core.validate import check_at_least, check_seed, known_seed
from bayesanno.criticism.sbc import gives_labels, run_all, try_fit
from bayesanno.data.annotations import AnnotationData
from bayesanno.fits.storage import load, save
from bayesanno.fits.view import FitView, part_of, view_of
from bayesanno.inference.log_likelihood import count_high, leave_one_out
from bayesanno.inference.methods import choose_method
from bayesanno.modeling.arguments import require_latents
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.registry import get_model

DIAGNOSTICS = ("max_rhat", "min_ess_bulk", "divergences")
OWN = "own"  # the name of the model's own prior
LAYOUT = 2  # of a row's file: rows of another layout are fitted again


@dataclass(frozen=True)
class Study:
    """The results of a study of priors; its labels are those of the posteriors, not adjusted.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per prior, the model's own first.

        - `prior`: its name, "own" or the fields that differ from the model's own, such as "prevalence_prior=1"; then
          the fields that vary.
        - `labels_changed` (items with another label than under the model's own prior), `mean_change` and
          `largest_change` of an item's label probabilities (total variation), and `largest_rank_move` of an annotator,
          for models with a competence. With gold also `accuracy`.
        - `elpd_loo`, `elpd_diff`, `se_diff` and `n_high_pareto_k`: the prediction of left-out items, as in `compare`,
          but the difference is to the model's own prior. A point estimate by EM has none, nor has a fit with too few
          draws or without `log_likelihood`: the columns are then nan, or absent if the own prior has none. VB and ADVI
          are approximations, whose `elpd_loo` is often too high.
        - R-hat, ESS and divergences, `seconds`, and `problem`: the warnings of the fit, or the reason why it failed.
    flips : pandas.DataFrame
        One row per prior and item with a changed label: `prior`, `item`, `label` and `probability` under the model's
        own prior, `label_then` and `probability_then`.
    annotators : pandas.DataFrame
        One row per prior and annotator, for models with a competence: `prior`, `annotator`, `competence` (posterior
        mean), `rank` (1 is the best) and `rank_move` from that under the model's own prior.
    fits : mapping of str to xarray.DataTree
        With `keep_fits`, the fit under each prior, by its name, as `arviz_stats.compare` takes them; failed ones are
        left out.
    """

    table: pd.DataFrame
    flips: pd.DataFrame
    annotators: pd.DataFrame
    fits: Mapping[str, xr.DataTree]

    def __repr__(self) -> str:
        """Return the first priors with what changes under them."""
        return show_rows(f"Study of {counted(len(self.table), 'prior')}", self.table)


@dataclass(frozen=True)
class Row:
    """A prior of the grid: its name, the model with this prior, and the seed of its fit."""

    name: str
    model: AnnotationModel
    seed: int
    key: str  # of everything that determines its fit


def sensitivity(
    model: str | AnnotationModel,
    data: AnnotationData,
    grid: Mapping[str, Sequence[Any]],
    *,
    random_seed: int | None = None,
    folder: str | Path | None = None,
    keep_fits: bool = False,
    workers: int = 1,
    client: Any = None,
    progressbar: bool = True,
    **arguments: Any,
) -> Study:
    """Fit a model under every prior of a grid, and compare the results.

    The numbers in priors are data of the model's graph, so a process compiles once for all of them. Only options that
    change the graph compile again.

    Parameters
    ----------
    model : str or AnnotationModel
        A model of labels. The other priors are compared with its own.
    data : AnnotationData
    grid : mapping of field to sequence of values
        Values of the model's fields; all combinations are fitted. Their names are short: "own", and for the others the
        fields that differ from it.
    random_seed : int, optional
        Each row has its own seed, derived from this one and its prior.
    folder : str or Path, optional
        A folder for the results of rows, from which an interrupted study continues. Rows that an older version wrote
        without what the tables need are fitted again.
    keep_fits : bool, default False
        Whether to keep all fits, so that any quantity can be computed under each prior; in `folder` as NetCDF files.
    workers : int
        Number of parallel processes. With more than one, a script needs the usual `if __name__ == "__main__":`.
    client : dask.distributed.Client, optional
        A cluster that runs the fits instead.
    progressbar : bool
    arguments
        Further arguments of `bayesanno.fit`: method, draws and so on.

    Returns
    -------
    Study

    Raises
    ------
    ModelError
        If the model or a field is unknown, or a value is out of range; raised before anything is fitted.
    FitError
        If the model gives no labels, a setting is invalid, or the fit under the model's own prior fails.

    Examples
    --------
    >>> import bayesanno as ba
    >>> data = ba.read_annotations("@crowd")
    >>> grid = {"prevalence_prior": [1, 100]}
    >>> study = ba.sensitivity("mace", data, grid, method="em", random_seed=1, progressbar=False)
    >>> study.table["prior"].tolist()
    ['own', 'prevalence_prior=1', 'prevalence_prior=100']
    >>> settings = {"method": "vb", "random_seed": 1, "progressbar": False}
    >>> study = ba.sensitivity("mace", data, grid, keep_fits=True, **settings)
    >>> list(study.fits)
    ['own', 'prevalence_prior=1', 'prevalence_prior=100']
    """
    check_seed(random_seed)
    own = get_model(model)
    require_labels(own, data)
    check_at_least("workers", workers, 1)
    choose_method(arguments.get("method", "nuts"), arguments.get("method_options"))
    rows = lay_out_grid(own, grid, data, known_seed(random_seed), arguments)
    files = {} if folder is None else {row.name: Path(folder) / f"{row.key}.npz" for row in rows}
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    kept = {name: path.with_suffix(".nc") for name, path in files.items() if keep_fits}
    whole = {name: path for name, path in files.items() if path.is_file() and kept.get(name, path).is_file()}
    done = {name: result for name, path in whole.items() if (result := _load(path)) is not None}
    fits = {name: load(kept[name]) for name in done if keep_fits}
    todo = [row for row in rows if row.name not in done]
    ways: dict[str, Any] = {"workers": workers, "client": client, "message": "fitting", "progressbar": progressbar}
    for row, result in run_all(fit_row, todo, data, arguments, keep_fits, **ways):
        if "fit" in result:
            fits[row.name] = result.pop("fit")
        done[row.name] = result
        if row.name in fits and files:
            save(fits[row.name], kept[row.name], overwrite=True)
        if files:
            _save(files[row.name], result)
    if done[OWN]["problem"] and "probability" not in done[OWN]:
        raise FitError(f"the model under its own prior cannot be fitted: {done[OWN]['problem']}")
    kept_fits = {row.name: fits[row.name] for row in rows if row.name in fits}
    return _tabulate(rows, [done[row.name] for row in rows], data, list(grid), kept_fits)


def require_labels(model: AnnotationModel, data: Any) -> None:
    """Raise a FitError unless a model gives each item one label, or a DataError if it cannot be fitted to the data."""
    model.check(data)
    require_latents(model, data, "labels", "sensitivity")
    if not gives_labels(model, data):
        raise FitError(f"sensitivity is for models of one label of each item, and {model.name} gives several")


def lay_out_grid(
    model: AnnotationModel,
    grid: Mapping[str, Sequence[Any]],
    data: AnnotationData,
    seed: int,
    arguments: Mapping[str, Any],
) -> list[Row]:
    """Return the rows of a study: the model itself, and every combination of values, without duplicates."""
    if not grid:
        raise ModelError("the grid is empty: give at least one field with the values to try")
    for field, values in grid.items():
        if isinstance(values, str) or not len(values):
            raise ModelError(f"the grid of {field} is {values!r}: give a list of values")
    models = dict.fromkeys([model])
    for values in product(*grid.values()):
        models[get_model(model, dict(zip(grid, values, strict=True)))] = None
    rows: dict[str, Row] = {}
    for one in models:
        name = name_prior(one, model, list(grid))
        if name in rows:  # values that differ only in digits that are not written
            name += f" ({len(rows)})"
        what = json.dumps([one.name, one.to_fields(), data.hash, seed, repr(sorted(arguments.items()))])
        digest = hashlib.sha256(what.encode()).digest()
        own_seed = int(np.random.SeedSequence([seed, *digest]).generate_state(1)[0])
        rows[name] = Row(name, one, own_seed, digest.hex())
    return list(rows.values())


def name_prior(model: AnnotationModel, own: AnnotationModel, fields: Sequence[str]) -> str:
    """Return the name of a prior: the fields in which it differs from the model's own."""
    values = {field: getattr(model, field) for field in fields}
    changed = [f"{field}={as_typed(value)}" for field, value in values.items() if value != getattr(own, field)]
    return ", ".join(changed) or OWN


def fit_row(row: Row, data: AnnotationData, arguments: Mapping[str, Any], keep_fit: bool) -> dict[str, Any]:
    """Fit one prior; return the results that a study needs, or the reason why the fit failed."""
    began = time.perf_counter()
    found, problem = try_fit({**arguments, "model": row.model}, data, row.seed)
    result: dict[str, Any] = {"problem": problem, "seconds": time.perf_counter() - began}
    if found is None:
        return result
    view = view_of(found)
    part = part_of(view, None)
    result |= {name: view.diagnostics.get(name) for name in DIAGNOSTICS}
    result |= {"probability": part.posterior.values, "states": list(part.states)} | _leave_one_out(view)
    if row.model.competence is not None:
        result["competence"] = view.posterior[row.model.competence].mean(("chain", "draw")).values
    return result | ({"fit": found} if keep_fit else {})


def _leave_one_out(view: FitView) -> dict[str, Any]:
    """Return the elpd of each item and the number of bad Pareto k; nothing of a point, or without log-likelihoods."""
    if view.yields == "point" or "log_likelihood" not in view.tree.children:
        return {}
    try:
        elpd = leave_one_out(view)
    except FitError:  # too few draws
        return {}
    return {"elpd_i": elpd.elpd_i.values, "n_high_pareto_k": count_high(elpd)}


def _save(path: Path, result: Mapping[str, Any]) -> None:
    arrays = {name: value for name, value in result.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in result.items() if name not in arrays} | {"layout": LAYOUT}
    with write_whole(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **(arrays | {"rest": np.array(json.dumps(rest))}))


def _load(path: Path) -> dict[str, Any] | None:
    """Return the results of a row; None if another version wrote them in another layout."""
    with np.load(path) as kept:
        rest: dict[str, Any] = json.loads(str(kept["rest"]))
        if rest.pop("layout", None) != LAYOUT:
            return None
        return rest | {name: kept[name] for name in kept.files if name != "rest"}


def _tabulate(
    rows: Sequence[Row],
    results: Sequence[Mapping[str, Any]],
    data: AnnotationData,
    fields: Sequence[str],
    fits: Mapping[str, xr.DataTree],
) -> Study:
    """Return the tables of a study; rows are in the grid's order, the model's own prior first."""
    from scipy.stats import rankdata

    fitted = {row.name: result for row, result in zip(rows, results, strict=True) if "probability" in result}
    names_fitted = np.array(list(fitted), dtype=object)  # (fit,)
    probability = np.stack([result["probability"] for result in fitted.values()])  # (fit, item, state)
    best, names = probability.argmax(axis=2), np.array(results[0]["states"], dtype=object)
    change = np.abs(probability - probability[0]).sum(axis=2) / 2  # (fit, item)
    is_other = best != best[0]
    found = {"labels_changed": is_other.sum(axis=1), "mean_change": change.mean(axis=1)}
    found["largest_change"] = change.max(axis=1)
    gold = np.array([data.gold.get(item, "") for item in data.items], dtype=object)
    if (gold != "").any():
        found["accuracy"] = (names[best] == gold)[:, gold != ""].mean(axis=1)
    fit, item = np.nonzero(is_other)
    flips = {"prior": names_fitted[fit], "item": np.array(data.items, dtype=object)[item]}
    for then, at in (("", np.zeros_like(fit)), ("_then", fit)):
        flips[f"label{then}"] = names[best[at, item]]
        flips[f"probability{then}"] = probability[at, item, best[at, item]]
    annotators = pd.DataFrame(columns=["prior", "annotator", "competence", "rank", "rank_move"])
    if "competence" in results[0]:
        competence = np.stack([result["competence"] for result in fitted.values()])  # (fit, annotator)
        rank = rankdata(-competence, method="min", axis=1).astype(int)
        moved = rank - rank[0]
        found["largest_rank_move"] = np.abs(moved).max(axis=1)
        whose = {"prior": np.repeat(names_fitted, data.n_annotators), "annotator": list(data.annotators) * len(fitted)}
        values = {"competence": competence.ravel(), "rank": rank.ravel(), "rank_move": moved.ravel()}
        annotators = pd.DataFrame(whose | values)
    if "elpd_i" in results[0]:
        found |= _compare_elpds(list(fitted.values()))
    priors = pd.DataFrame([{field: getattr(row.model, field) for field in fields} for row in rows])
    priors.insert(0, "prior", [row.name for row in rows])
    priors = priors.join(pd.DataFrame(found, index=names_fitted), on="prior")
    for name in (*DIAGNOSTICS, "seconds", "problem"):
        priors[name] = [result.get(name) for result in results]
    return Study(priors, pd.DataFrame(flips), annotators, fits)


def _compare_elpds(results: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Return the leave-one-out columns of fits, (fit,) each; differences are to the first."""
    own = results[0]["elpd_i"]  # (item,)
    lacks = np.full(own.shape, np.nan)
    elpd = np.stack([result.get("elpd_i", lacks) for result in results])  # (fit, item)
    difference = elpd - own
    high = np.array([result.get("n_high_pareto_k", np.nan) for result in results])
    found = {"elpd_loo": elpd.sum(axis=1), "elpd_diff": difference.sum(axis=1)}
    return found | {"se_diff": np.sqrt(own.size) * difference.std(axis=1), "n_high_pareto_k": high}
