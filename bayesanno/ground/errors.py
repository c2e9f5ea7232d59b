"""The exceptions of bayesanno: one root, and each subclass is also the builtin a caller would expect.

What an error or a warning says is one line that can be shown, whatever characters the names in it have. Warnings point
at the calling line outside this package, at any depth of internal calls.
"""

import os
import warnings
from pathlib import Path

OURS = (f"{Path(__file__).parents[1]}{os.sep}",)  # the folder of the package


class BayesannoError(Exception):
    """Root of every error that bayesanno raises on purpose.

    Its message is one line: what is wrong, where, and what to do.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(as_line(message))


class DataError(BayesannoError, ValueError):
    """Annotations that cannot be read or do not fit together."""


class DataFileError(BayesannoError, OSError):
    """A file that is missing, cannot be fetched, or would be overwritten."""


class ModelError(BayesannoError, ValueError):
    """An unknown model, an unknown field of a model, or a field out of its range."""


class SamplerError(BayesannoError, ImportError):
    """A sampler that is not installed."""


class ExtraError(BayesannoError, ImportError):
    """A part of the package that is not installed."""


class FitError(BayesannoError, ValueError):
    """A request that this fit, or this method of fitting, does not support."""


class CacheWarning(UserWarning):
    """Compiled code cannot be cached between runs: results are the same, but fits are slower."""


class ConvergenceWarning(UserWarning):
    """A diagnostic shows that a posterior is not reliable yet; the text says why and what to do."""


class ExportWarning(UserWarning):
    """Something that an export of a tool leaves out, or does not say."""


class IdentifiabilityWarning(UserWarning):
    """A design that does not identify a quantity, for any number of draws."""


class MisfitWarning(UserWarning):
    """Answers that are not as the fitted model predicts them, so that probabilities of its labels may be wrong."""


class NamesWarning(UserWarning):
    """Names that count as two, but are spelt so alike that they may mean one; true labels that are no labels."""


class PredictionWarning(UserWarning):
    """A prediction supported by few draws, or a recalibration by few known labels."""


class SizeWarning(UserWarning):
    """A part of a result was left out because it would take too much memory; the text says how to add it."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn of something, as of the user's own line."""
    warnings.warn(as_line(message), category, skip_file_prefixes=OURS)


def as_line(text: str) -> str:
    r"""Return a text with those characters escaped that do not show, or that would end or turn its line.

    Examples
    --------
    >>> from bayesanno.ground.errors import as_line
    >>> as_line("no column a\nb") == r"no column a\nb"
    True
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
