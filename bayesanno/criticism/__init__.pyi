"""Names of this room that few need; those that most need are in `bayesanno`."""

from .power_scaling import label_power_scaling as label_power_scaling
from .predictive import PredictiveCheck as PredictiveCheck
from .predictive import item_predictions as item_predictions
from .prior import PriorDescription as PriorDescription
from .sensitivity import Study as Study
