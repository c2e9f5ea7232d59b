"""The exceptions of bayesanno: they share one root, and each is also the builtin that a caller would expect.

The message of an error or a warning is one printable line, whatever characters are in the names it contains. Warnings
point to the calling line outside this package, at any depth of internal calls.
"""

import os
import warnings
from pathlib import Path

OURS = (f"{Path(__file__).parents[1]}{os.sep}",)  # the folder of the package


class BayesannoError(Exception):
    """Root of every error that bayesanno raises on purpose.

    The message is one line: the problem, its place, and the remedy.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(as_line(message))


class DataError(BayesannoError, ValueError):
    """Annotations that cannot be read or do not fit together."""


class DataFileError(BayesannoError, OSError):
    """A file that is missing, cannot be fetched, or would be overwritten."""


class ModelError(BayesannoError, ValueError):
    """An unknown model, an unknown field of a model, or a field out of range."""


class SamplerError(BayesannoError, ImportError):
    """A sampler that is not installed."""


class ExtraError(BayesannoError, ImportError):
    """A part of the package that is not installed."""


class FitError(BayesannoError, ValueError):
    """A request that this fit, or this method of fitting, does not support."""


class ConvergenceWarning(UserWarning):
    """A diagnostic shows that a posterior is not yet reliable; the message gives the reason and a remedy."""


class ExportWarning(UserWarning):
    """Information that is missing from the export of a tool."""


class IdentifiabilityWarning(UserWarning):
    """A design that does not identify a quantity, however many draws there are."""


class MisfitWarning(UserWarning):
    """The fitted model does not predict the answers well, so its label probabilities may be wrong."""


class NamesWarning(UserWarning):
    """Names that differ but are so similar that they may mean the same; true labels that are not among the labels."""


class PredictionWarning(UserWarning):
    """A prediction supported by few draws, or a recalibration by few known labels."""


class SizeWarning(UserWarning):
    """A part of a result was left out because it would need too much memory; the message explains how to add it."""


def warn(message: str, category: type[Warning], *, level: str = "") -> None:
    """Raise a warning that points to the user's own line; the `level` of a finding is for the terminal."""
    one = category(as_line(message))
    if level:
        one.level = level  # type: ignore[attr-defined]
    warnings.warn(one, skip_file_prefixes=OURS)


def as_line(text: str) -> str:
    r"""Return a text with escapes for characters that are invisible, break the line or change its direction.

    Examples
    --------
    >>> from bayesanno._core.errors import as_line
    >>> as_line("no column a\nb") == r"no column a\nb"
    True
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
