"""The thresholds of findings of a fit, from `bayesanno/modeling/rules.toml`, which explains each, and of the search."""

from bayesanno.modeling.findings import threshold_of

MAX_RHAT = threshold_of("rhat")  # of chains that agree
MIN_ESS = threshold_of("ess")
MAX_PARETO_K = threshold_of("pareto-k")
LEAST_PROBABILITY = threshold_of("modes-apart")  # less probable modes are ignored, and no chain starts there
FEW_ITEMS_DIFFER = 0.01  # modes that label at most this share of items (or one) differently count as one
UNLIKELY = 0.01  # probability that no draw examined is in a mode, if draws were in proportion to the probabilities
