"""The thresholds of warnings of a fit, with the source of each."""

MAX_RHAT = 1.01  # of chains that agree; Vehtari et al. 2021, doi:10.1214/20-BA1221
MIN_ESS = 400.0  # the same source: 100 per chain, with four chains
MIN_BFMI = 0.3  # Betancourt 2016, arXiv:1604.00695
MAX_PARETO_K = 0.7  # Yao et al. 2018, arXiv:1802.02538
MAX_DEPTH_SHARE = 0.05  # of the draws; PyMC's threshold (pymc.stats.convergence.warn_treedepth)
LEAST_MASS = 0.02  # share of the mass: modes with less are ignored, and no chain starts there
CLOSE_NATS = 3.0  # an approximation that is lower by less may represent a mode with a twentieth of the mass
FEW_ITEMS_DIFFER = 0.01  # modes that label at most this share of items (or one) differently count as one
UNLIKELY = 0.01  # probability of so few draws in a mode, if draws were in proportion to the masses
MOST_NAMED = 3  # modes after the first that a message names
AGREES = 0.6  # labels that agree with the vote on a smaller share of items contradict it
FEWEST_VOTED = 10  # items with a vote: with fewer, a share means little
