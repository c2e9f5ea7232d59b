"""The exceptions of bayesanno: one root, and each subclass is also the builtin a caller would expect.

Warnings point at the line outside this package that led to them, however many calls of ours lie between.
"""

import os
import warnings
from pathlib import Path

OURS = (f"{Path(__file__).parents[1]}{os.sep}",)  # the folder of the package


class BayesannoError(Exception):
    """Root of every error that bayesanno raises on purpose.

    Its message is one line: what is wrong, where, and what to do.
    """


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
    """A request that this fit, or this method of fitting, cannot serve."""


class CacheWarning(UserWarning):
    """Compiled code that cannot be kept from one run to the next, which costs time and nothing else."""


class ConvergenceWarning(UserWarning):
    """A diagnostic that says not to believe a posterior yet, in plain language."""


class IdentifiabilityWarning(UserWarning):
    """A design from which a quantity cannot be learnt, however long one samples."""


class MisfitWarning(UserWarning):
    """Answers that are not as the fitted model predicts them, so that its labels are not to be taken at their word."""


class NamesWarning(UserWarning):
    """Names in a table that are taken for two, and are spelt so alike that they may be meant as one."""


class PredictionWarning(UserWarning):
    """A prediction, or a recalibration, that rests on little: few of a fit's draws, or few known labels."""


class SizeWarning(UserWarning):
    """A part of a result that was left out because it would take too much memory, and what is done about that."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn of something, as of the user's own line."""
    warnings.warn(message, category, skip_file_prefixes=OURS)
