"""Names of this room that few need; those that most need are in `bayesanno`."""

from .dask.annotations import DaskAnnotations as DaskAnnotations
from .log_likelihood import compute_log_likelihood as compute_log_likelihood
