"""BIO tags of tokens: the most probable sequence in which every tag may follow the one before it.

The invariant: in each sequence a tag I-X follows B-X or I-X. No other sequence that obeys this rule is more probable
(if tokens are independent given their annotations).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from bayesanno._core.lazy import pd, xr
from bayesanno._core.messages import DataError, FitError, listed, option
from bayesanno.analysis.views import view_for_table
from bayesanno.fits.view import FitView, parts_of
from bayesanno.modeling.arguments import data_of_latent, require_latents
from bayesanno.modeling.base import AnnotationModel

_BEGIN, _INSIDE, _OUTSIDE = "B-", "I-", "O"
_TOKEN = re.compile(r"(.*)/(\d+)", re.DOTALL)


def tag_table(fit: xr.DataTree | FitView) -> pd.DataFrame:
    """Return the most probable valid sequence of BIO tags of each text, by the Viterbi algorithm.

    A fit labels each token separately, so its most probable labels may contain `I-LOC` after `O`. This table has the
    sequence with the highest product of token probabilities among those in which `I-X` follows `B-X` or `I-X`.

    Parameters
    ----------
    fit : xarray.DataTree or FitView
        A fit with tokens as items and labels O, B-X and I-X. Items are named by text and position, such as `text/3`;
        `read_annotations` makes such names from `item="{text}/{token}"`.

    Returns
    -------
    pandas.DataFrame
        One row per item, in the data's order: `item`, `text`, `token` (its position), `tag`, `probability` (of that tag
        for the token alone), and `label`, the most probable tag of the token alone.

    Raises
    ------
    FitError
        If the model gives no labels, or the fit has several dimensions.
    DataError
        If a label is not a BIO tag, or an item has no position.

    References
    ----------
    L. A. Ramshaw and M. P. Marcus (1995), Text chunking using transformation-based learning, Third Workshop on Very
    Large Corpora. https://aclanthology.org/W95-0107

    Examples
    --------
    >>> import bayesanno as ba
    >>> said = [(f"s1/{i}", who, tag) for who in "abc" for i, tag in enumerate(["B-LOC", "I-LOC", "O"])]
    >>> fit = ba.fit("model_b", ba.AnnotationData.from_records(said), method="em", random_seed=1, check=False)
    >>> ba.tag_table(fit)["tag"].tolist()
    ['B-LOC', 'I-LOC', 'O']
    """
    view = view_for_table(fit)
    texts, tokens = check_tags(view.model, view.named_data)
    (part,) = parts_of(view)
    with np.errstate(divide="ignore"):
        logs = np.log(part.posterior.values)  # (item, label)
    allowed = _find_allowed(part.states)
    best = np.empty(len(texts), dtype=np.int64)  # (item,): the position of its tag among the labels
    table = pd.DataFrame({"item": pd.Series(list(part.data.items), dtype="str"), "text": texts, "token": tokens})
    for _, rows in table.sort_values("token", kind="stable").groupby("text", sort=False).groups.items():
        best[rows] = _decode(logs[rows], *allowed)
    table["tag"] = pd.Series([part.states[tag] for tag in best], dtype="str")
    table["probability"] = part.posterior.values[np.arange(best.size), best]
    table["label"] = pd.Series(part.best, dtype="str")
    return table


def check_tags(model: AnnotationModel, data: object) -> tuple[list[str], list[int]]:
    """Return the text and the position of each item; raise an error if a fit of these data has no table of tags.

    Raises
    ------
    FitError, DataError
        As for `tag_table`.
    """
    found = model.latents(data)
    require_latents(model, data, "labels", "tag_table")
    if len(found) > 1:
        raise FitError(f"{model.name} does not give one label per item, and so no tags")
    part = data_of_latent(data, found[0])
    odd = [label for label in part.classes if label != _OUTSIDE and label[:2] not in (_BEGIN, _INSIDE)]
    if odd:
        raise DataError(f"labels are not BIO tags, {listed(odd)}: each must be O or begin with B- or I-")
    found_names = [_TOKEN.fullmatch(item) for item in part.items]
    if not all(found_names):
        wrong = part.items[found_names.index(None)]
        raise DataError(
            f"item {wrong!r} has no position in its text: name items like 'text/3', with "
            f"{option('item', '{text}/{token}')}"
        )
    return [each[1] for each in found_names if each], [int(each[2]) for each in found_names if each]


def _find_allowed(labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return 0 if a label may be the first, (label,), or follow another, (before, label); else minus infinity."""
    first = np.array([label[:2] != _INSIDE for label in labels])
    after = first | [[before in (label, _BEGIN + label[2:]) for label in labels] for before in labels]
    return np.where(first, 0.0, -np.inf), np.where(after, 0.0, -np.inf)


def _decode(logs: np.ndarray, first: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the positions of the labels of the most probable sequence; shape (token,)."""
    score = logs[0] + first  # (label,)
    came_from = np.zeros(logs.shape, dtype=np.int64)  # (token, label)
    for token in range(1, len(logs)):
        paths = score[:, None] + after  # (label before, label)
        came_from[token] = paths.argmax(axis=0)
        score = paths.max(axis=0) + logs[token]
    path = [int(score.argmax())]
    for token in range(len(logs) - 1, 0, -1):
        path.append(int(came_from[token, path[-1]]))
    return np.array(path[::-1])
