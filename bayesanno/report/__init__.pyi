"""Names of this room that few need; those that most need are in `bayesanno`."""

from .plots.agreement import plot_distances as plot_distances
from .plots.agreement import plot_divergence as plot_divergence
from .plots.sensitivity import plot_label_power_scaling as plot_label_power_scaling
