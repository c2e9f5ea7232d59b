"""Grades in order a second time: NumPy, one item, grade, node and answer at a time, by cumulative probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.special import log_expit, log_ndtr
from scipy.stats import dirichlet, gamma, halfnorm, lognorm, norm

Parameters = Mapping[str, np.ndarray]
Said = Sequence[tuple[int, int]]  # one item's (annotator, label) pairs

NODES = 5 * np.arange(-14, 15) / 14  # of items of few answers


def thresholds_of(width: np.ndarray) -> list[float]:
    """Where one label ends and the next begins: the scale from -1/2 is cut into K parts."""
    at, found = -0.5, []
    for share in width[:-1]:
        at += share * width.size
        found.append(at)
    return found


def reported(noise: str, low: float, high: float, mean: float, sd: float) -> np.longdouble:
    """P(low < perceived < high), from the tail on the side where it is small."""
    log_below = log_ndtr if noise == "normal" else lambda x: log_expit(np.pi / np.sqrt(3) * x)

    def below(x: float) -> np.longdouble:  # of more than 38 standard deviations a double is 0
        return np.exp(np.longdouble(log_below(x)))

    with np.errstate(divide="ignore"):
        a = low if np.isinf(low) else np.float64(low - mean) / sd
        b = high if np.isinf(high) else np.float64(high - mean) / sd
    return below(-a) - below(-b) if a > 0 else below(b) - below(a)


def ordinal_states_of(fields: Mapping) -> Callable[[Parameters, Said], np.ndarray]:
    def states(parameters: Parameters, said: Said) -> np.ndarray:
        ends = [-np.inf, *thresholds_of(parameters["width"]), np.inf]
        nodes = NODES if fields["shared"] else np.zeros(1)
        weights = norm.pdf(nodes) / norm.pdf(nodes).sum()
        spread = float(parameters.get("shared_spread", 0.0))
        joint = np.zeros(len(parameters["prevalence"]), dtype=np.longdouble)  # a product may be below 1e-308
        for truth, share in enumerate(parameters["prevalence"]):
            for node, weight in zip(nodes, weights, strict=True):
                probability = np.longdouble(share * weight)
                for annotator, label in said:
                    mean = truth + parameters["severity"][annotator] + spread * node
                    sd = parameters["sd"][annotator]
                    probability *= reported(fields["noise"], ends[label], ends[label + 1], mean, sd)
                joint[truth] += probability
        return joint

    return states


def ordinal_log_prior(parameters: Parameters, fields: Mapping) -> float:
    n_labels = len(parameters["prevalence"])
    total = dirichlet(np.full(n_labels, fields["prevalence_prior"])).logpdf(parameters["prevalence"])
    total += dirichlet(np.full(n_labels, fields["width_prior"])).logpdf(parameters["width"])
    total += gamma(2, scale=fields["severity_prior"] / 2).logpdf(parameters["severity_spread"])
    total += norm(0, parameters["severity_spread"]).logpdf(parameters["severity"]).sum()
    median, sigma = fields["sd_prior"]
    total += lognorm(sigma, scale=median).logpdf(parameters["typical_sd"])
    total += gamma(2, scale=fields["sd_spread_prior"] / 2).logpdf(parameters["sd_spread"])
    total += lognorm(parameters["sd_spread"], scale=parameters["typical_sd"]).logpdf(parameters["sd"]).sum()
    if fields["shared"]:
        total += halfnorm(scale=fields["shared_prior"]).logpdf(parameters["shared_spread"])
    return float(total)
