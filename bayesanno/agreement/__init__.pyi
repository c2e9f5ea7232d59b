"""Names of this room that few need; those that most need are in `bayesanno`."""

from .advice import advise as advise
from .coefficients import Kappa as Kappa
from .coefficients import measure_kappa as measure_kappa
from .groups import confusable_labels as confusable_labels
from .groups import group_annotators as group_annotators
from .subsets import outlier_table as outlier_table
from .subsets import subset_table as subset_table
