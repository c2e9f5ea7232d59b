"""The one place where a discrete latent is summed out, and where its posterior is recovered.

A model says log p(state, an item's answers | parameters) once, in `state_logp`. From that formula follow

* the likelihood that NUTS and ADVI see: one observed variable `annotations`, one value per item, the state summed out;
* the posterior of each item's state, averaged over the posterior draws (Rao-Blackwell: no state is ever sampled);
* draws of the states, for whoever asks.

Zero probabilities give -inf, never nan. Controls are -inf outside the known state.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesanno.design import Layout, lay_out
from bayesanno.lazy import pm, pt, xr

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

    from bayesanno.base import AnnotationModel
    from bayesanno.data import AnnotationData

BLOCK_BYTES = 128 * 2**20  # how much of the states' posterior, over all draws, is in memory at a time


@dataclass(frozen=True)
class Answers:
    """The annotations as `state_logp` sees them: symbolic indices, equal items given once.

    Attributes
    ----------
    annotator, said, item : TensorVariable of int, shape (annotation,)
        Who said what of which item.
    n_items : TensorVariable of int
        Number of items.
    """

    annotator: TensorVariable
    item: TensorVariable
    n_items: TensorVariable
    all_said: TensorVariable  # what was said in every annotation of the table,
    kept: TensorVariable  # and which of those are the annotations here

    @property
    def said(self) -> TensorVariable:
        """What was said; shape (annotation,)."""
        return self.all_said[self.kept]

    def total(self, table: TensorVariable) -> TensorVariable:
        """Add up a table of (annotator, response, state) over each item's annotations: shape (item, state)."""
        from bayesanno.tally import sum_by_item

        return sum_by_item(table, self.annotator, self.all_said, self.kept, self.item, self.n_items)


@dataclass(frozen=True)
class Design:
    """Who is asked about what, as `generate` sees it.

    Attributes
    ----------
    annotator, item : TensorVariable of int, shape (annotation,)
        Who annotates which item.
    n_items : TensorVariable of int
        Number of items.
    control : TensorVariable of int, shape (item,), or None
        The known state of each item, -1 where there is none.
    """

    annotator: TensorVariable
    item: TensorVariable
    n_items: TensorVariable
    control: TensorVariable | None = None

    def clamp(self, state: TensorVariable) -> TensorVariable:
        """Put the known states in place of random ones; shape (item,)."""
        return state if self.control is None else pt.switch(self.control >= 0, self.control, state)


def design_arrays(data: AnnotationData, *, controlled: bool = False) -> dict[str, np.ndarray]:
    """Return every array that the observed variable of a model depends on, by the name of its data container.

    `pm.set_data(design_arrays(data), model)` puts other answers of the same shape into a model that is built. nutpie's
    `with_data` does so without compiling again; it takes those of them that the likelihood uses. A model that was built
    without controls has no place for them; for one that was built with, ask for `controlled` arrays.
    """
    layout = lay_out(data)
    arrays = {
        "said": data.label,
        "annotation_annotator": data.annotator,
        "annotation_item": data.item,
        "item_pattern": layout.pattern,
        "kept_annotation": layout.kept,
        "kept_annotator": data.annotator[layout.kept],
        "kept_pattern": layout.kept_pattern,
        "pattern_item": layout.first,
    }
    return arrays | {"control": data.control_codes} if data.controls or controlled else arrays


def observe(entry: AnnotationModel, data: AnnotationData, **parameters: TensorVariable) -> TensorVariable:
    """Register the observed variable `annotations` of a model, its per-item latent summed out.

    Call it last in `build`, inside the model's context, with the parameters under the names that the entry's
    `state_logp` and `generate` give them.
    """
    from bayesanno.simplex import share_softmax

    share_softmax(pm.modelcontext(None))
    containers = {name: pm.Data(name, array) for name, array in design_arrays(data).items()}
    said = containers.pop("said")
    names = [*parameters, *containers]
    inputs = [*parameters.values(), *containers.values()]

    def logp(value: TensorVariable, *given: TensorVariable) -> TensorVariable:
        given_by_name = dict(zip(names, given, strict=True))
        answers_and_control = _kept_answers(value, given_by_name)
        logp_of_pattern = _sum_out(_state_logp(entry, answers_and_control, _only(given_by_name, parameters)))[0]
        return logp_of_pattern[given_by_name["item_pattern"]]  # (item,)

    def dist(*given_and_size: TensorVariable) -> TensorVariable:
        given_by_name = dict(zip(names, given_and_size[:-1], strict=True))
        return entry.generate(_full_design(given_by_name), **_only(given_by_name, parameters))[1]

    letters = iter(string.ascii_lowercase + string.ascii_uppercase)
    cores = ["".join(",".join(itertools.islice(letters, variable.ndim))) for variable in inputs]
    signature = ",".join(f"({core})" for core in cores) + f"->({next(letters)})"
    return pm.CustomDist(
        "annotations", *inputs, logp=logp, dist=dist, signature=signature, observed=said, dims="annotation"
    )


def _only(given: Mapping[str, TensorVariable], names: Mapping[str, Any]) -> dict[str, TensorVariable]:
    return {name: given[name] for name in names}


def _kept_answers(said: TensorVariable, given: Mapping[str, TensorVariable]) -> tuple[Answers, TensorVariable | None]:
    answers = Answers(
        annotator=given["kept_annotator"],
        item=given["kept_pattern"],
        n_items=given["pattern_item"].shape[0],
        all_said=said,
        kept=given["kept_annotation"],
    )
    return answers, given["control"][given["pattern_item"]] if "control" in given else None


def _full_design(given: Mapping[str, TensorVariable]) -> Design:
    return Design(
        annotator=given["annotation_annotator"],
        item=given["annotation_item"],
        n_items=given["item_pattern"].shape[0],
        control=given.get("control"),
    )


def _state_logp(
    entry: AnnotationModel,
    answers_and_control: tuple[Answers, TensorVariable | None],
    parameters: Mapping[str, TensorVariable],
) -> TensorVariable:
    answers, control = answers_and_control
    logp = entry.state_logp(answers, **parameters)  # (item, state)
    if control is None:
        return logp
    states = pt.arange(logp.shape[1])[None, :]
    return pt.switch((control[:, None] < 0) | pt.eq(control[:, None], states), logp, -np.inf)


def _sum_out(logp: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return log p(an item's answers), shape (item,), and p(state | answers), shape (item, state)."""
    from bayesanno.logsumexp import sum_out_states

    total, probability = sum_out_states(logp)
    return total, probability


# ---------------------------------------------------------------------------------------------------- the way back


@dataclass(frozen=True)
class Recovered:
    """What the states' posterior says, averaged over draws.

    Attributes
    ----------
    latent : xarray.Dataset
        `probability` and `probability_mcse` (item, state), `entropy` (item) in nats, and the model's views.
    log_likelihood : array, shape (chain, draw, item)
        Log p(the item's answers | parameters), its state summed out.
    """

    latent: xr.Dataset
    log_likelihood: np.ndarray


def recover(entry: AnnotationModel, data: AnnotationData, posterior: xr.Dataset) -> Recovered:
    """Average p(state | answers, parameters) over the draws of a posterior, a block of items at a time.

    Parameters
    ----------
    entry : AnnotationModel
    data : AnnotationData
        The annotations of the fit, or of new items by the same annotators.
    posterior : xarray.Dataset
        The parameters, with dims (chain, draw, ...).
    """
    from arviz_stats.base import array_stats

    layout = lay_out(data)
    states = entry.states(data)
    draws = _draws(entry, posterior)
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    log_likelihood = np.empty((n_chains * n_draws, layout.n_patterns))  # (sample, pattern)
    probability = np.empty((layout.n_patterns, len(states)))  # (pattern, state)
    mcse = np.empty_like(probability)
    views: dict[str, tuple[str, list[np.ndarray]]] = {}

    formula = compile_formula(entry, draws)
    per_block = max(1, int(BLOCK_BYTES // (8 * n_chains * n_draws * len(states))))
    for begin in range(0, layout.n_patterns, per_block):
        block = slice(begin, min(begin + per_block, layout.n_patterns))
        arrays = _block_arrays(data, layout, block)
        p = np.empty((n_chains * n_draws, block.stop - block.start, len(states)))  # (sample, pattern, state)
        sums: dict[str, tuple[str, np.ndarray]] = {}
        for sample, parameters in enumerate(_each(draws)):
            p[sample], log_likelihood[sample, block], seen = formula(parameters, arrays)
            for name, (dim, values) in seen.items():
                sums[name] = (dim, values + (sums[name][1] if name in sums else 0))
        probability[block] = p.mean(axis=0)
        mcse[block] = array_stats.mcse(p.reshape(n_chains, n_draws, *p.shape[1:]), chain_axis=0, draw_axis=1)
        for name, (dim, total) in sums.items():
            views.setdefault(name, (dim, []))[1].append(total / (n_chains * n_draws))

    positive = np.where(probability > 0, probability, 1.0)
    latent = xr.Dataset(
        {
            "probability": (("item", entry.state_dim), probability[layout.pattern]),
            "probability_mcse": (("item", entry.state_dim), np.nan_to_num(mcse)[layout.pattern]),
            "entropy": ("item", -(positive * np.log(positive)).sum(axis=1)[layout.pattern]),
        },
        coords={"item": list(data.items), entry.state_dim: list(states)},
    )
    back = {"item": layout.pattern, "annotation": layout.source}
    for name, (dim, parts) in views.items():
        latent[name] = (dim, np.concatenate(parts)[back[dim]])
    gathered = log_likelihood.reshape(n_chains, n_draws, -1)[:, :, layout.pattern]
    return Recovered(latent=latent, log_likelihood=gathered)


def draw_states(
    entry: AnnotationModel,
    data: AnnotationData,
    posterior: xr.Dataset,
    *,
    random_seed: int | np.random.Generator | None = None,
) -> xr.DataArray:
    """Draw every item's state once per posterior draw: indices of states, dims (chain, draw, item)."""
    rng = np.random.default_rng(random_seed)
    draws = _draws(entry, posterior)
    layout = lay_out(data)
    arrays = _block_arrays(data, layout, slice(0, layout.n_patterns))
    formula = compile_formula(entry, draws)
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    states = np.empty((n_chains * n_draws, data.n_items), dtype=np.int64)  # (sample, item)
    for sample, parameters in enumerate(_each(draws)):
        below = formula(parameters, arrays)[0].cumsum(axis=1)[layout.pattern]  # (item, state)
        u = rng.uniform(size=(data.n_items, 1)) * below[:, -1:]
        states[sample] = (u >= below).sum(axis=1)
    coords = {"chain": posterior["chain"], "draw": posterior["draw"], "item": list(data.items)}
    return xr.DataArray(
        states.reshape(n_chains, n_draws, -1), dims=("chain", "draw", "item"), coords=coords, name=entry.state_dim
    )


Formula = Callable[
    [Mapping[str, np.ndarray], Mapping[str, np.ndarray]],
    tuple[np.ndarray, np.ndarray, dict[str, tuple[str, np.ndarray]]],
]


def compile_formula(entry: AnnotationModel, draws: Mapping[str, np.ndarray]) -> Formula:
    """Compile (parameters, answers) -> p(state | answers) (item, state), log p(answers) (item,), and the views."""
    import pytensor

    symbols = {name: pt.tensor(name, shape=(None,) * (values.ndim - 1)) for name, values in draws.items()}
    index = {name: pt.vector(name, dtype="int64") for name in ("annotator", "said", "item", "control")}
    answers = Answers(
        annotator=index["annotator"],
        item=index["item"],
        n_items=index["control"].shape[0],
        all_said=index["said"],
        kept=pt.arange(index["said"].shape[0]),
    )
    total, probability = _sum_out(_state_logp(entry, (answers, index["control"]), symbols))
    views = entry.views(answers, probability, **symbols)
    outputs = [probability, total, *(values for _, values in views.values())]
    function = pytensor.function([*symbols.values(), *index.values()], outputs, on_unused_input="ignore")

    def formula(
        parameters: Mapping[str, np.ndarray], arrays: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, dict[str, tuple[str, np.ndarray]]]:
        inputs = [parameters[name] for name in symbols] + [arrays[name] for name in index]
        state, total, *seen = function(*inputs)
        return state, total, {name: (views[name][0], values) for name, values in zip(views, seen, strict=True)}

    return formula


def _draws(entry: AnnotationModel, posterior: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the parameters that the entry's formula takes and the posterior has, each of shape (sample, ...)."""
    import inspect

    names = [name for name in inspect.signature(entry.state_logp).parameters if name in posterior.data_vars]
    stacked = {name: posterior[name].transpose("chain", "draw", ...).values for name in names}
    return {name: values.reshape(-1, *values.shape[2:]) for name, values in stacked.items()}


def _each(draws: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    n_samples = len(next(iter(draws.values())))
    return [{name: values[sample] for name, values in draws.items()} for sample in range(n_samples)]


def _block_arrays(data: AnnotationData, layout: Layout, block: slice) -> dict[str, np.ndarray]:
    """Cut a block of patterns out of a layout, renumbered from zero."""
    annotations = slice(*np.searchsorted(layout.kept_pattern, [block.start, block.stop]))
    kept = layout.kept[annotations]
    return {
        "annotator": data.annotator[kept],
        "said": data.label[kept],
        "item": layout.kept_pattern[annotations] - block.start,
        "control": data.control_codes[layout.first[block]],
    }
