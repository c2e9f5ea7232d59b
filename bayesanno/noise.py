"""`bayesanno.noise`: what chance explains of agreement, from counts, from a table, and from a fit."""

from bayesanno.agreement.coefficients import (
    ChanceDifference,
    Disagreement,
    bound_chance_difference,
    chance_agreement,
    count_disagreement,
    estimate_chance_agreement,
    estimate_coins,
)
from bayesanno.agreement.noise import (
    NoiseBound,
    bound_noise,
    bound_noise_of,
    hard_items_posterior,
    noise_from_kappa,
    plan_annotators,
    tolerated_disagreements,
)
from bayesanno.analysis.noise import NoisePosterior, noise_posterior

__all__ = [
    "ChanceDifference", "Disagreement", "NoiseBound", "NoisePosterior", "bound_chance_difference", "bound_noise",
    "bound_noise_of", "chance_agreement", "count_disagreement", "estimate_chance_agreement", "estimate_coins",
    "hard_items_posterior", "noise_from_kappa", "noise_posterior", "plan_annotators", "tolerated_disagreements",
]  # fmt: skip
