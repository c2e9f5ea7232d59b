"""`bayesanno.errors`: all errors and warnings; those that most programs catch or filter are in `bayesanno` too."""

from bayesanno._core.messages import (
    BayesannoError,
    ConvergenceWarning,
    DataError,
    DataFileError,
    ExportWarning,
    ExtraError,
    FitError,
    IdentifiabilityWarning,
    MisfitWarning,
    ModelError,
    NamesWarning,
    PredictionWarning,
    SamplerError,
    SizeWarning,
)

__all__ = [
    "BayesannoError", "ConvergenceWarning", "DataError", "DataFileError", "ExportWarning", "ExtraError",
    "FitError", "IdentifiabilityWarning", "MisfitWarning", "ModelError", "NamesWarning", "PredictionWarning",
    "SamplerError", "SizeWarning",
]  # fmt: skip
