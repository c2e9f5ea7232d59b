"""Join labels that differ only in spaces or capitals, if the options ask for it.

The invariant: without such an option no label changes, except for codes of missing answers.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from bayesanno.io.read_options import ReadOptions

_UNSEEN = dict.fromkeys(map(ord, "\u200b\ufeff"))  # zero-width spaces


def squeeze(name: str) -> str:
    """Return a name with single spaces, and with characters in their usual form.

    Examples
    --------
    >>> from bayesanno.io.spelling import squeeze
    >>> squeeze("very\u00a0  good"), squeeze("cafe\u0301") == "caf\u00e9"
    ('very good', True)
    """
    return " ".join(unicodedata.normalize("NFKC", name).translate(_UNSEEN).split())


def join_spellings(
    columns: Sequence[Sequence[str]], options: ReadOptions, first: Iterable[str] = ()
) -> list[list[str]]:
    """Return columns of labels with one spelling of each, and "" for those that are missing.

    The spelling in `first` is kept, or else the most frequent.
    """
    names = Counter(name for column in columns for name in column)
    missing, kept = {_key(name, options) for name in options.missing}, dict[str, str]()
    for name in (*first, *(name for name, _ in names.most_common())):
        kept.setdefault(_key(name, options), squeeze(name) if options.strip else name)
    chosen = {name: "" if (key := _key(name, options)) in missing else kept[key] for name in names}
    return [[chosen[name] for name in column] for column in columns]


def _key(name: str, options: ReadOptions) -> str:
    name = squeeze(name) if options.strip else name
    return name.casefold() if options.ignore_case else name
