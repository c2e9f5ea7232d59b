"""Grades in order a second time: NumPy, one item, grade and answer at a time, by cumulative probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.special import log_expit, log_ndtr
from scipy.stats import dirichlet, gamma, halfnorm, lognorm, norm

Parameters = Mapping[str, np.ndarray]
Said = Sequence[tuple[int, int]]  # one item's (annotator, label) pairs


def thresholds_of(width: np.ndarray) -> list[float]:
    """Where one label ends and the next begins: the scale from -1/2 is cut into K parts."""
    at, found = -0.5, []
    for share in width[:-1]:
        at += share * width.size
        found.append(at)
    return found


def reported(noise: str, low: float, high: float, mean: np.ndarray, sd: float) -> np.ndarray:
    """P(low < perceived < high) around each mean, from the tail on the side where it is small."""
    log_below = log_ndtr if noise == "normal" else lambda x: log_expit(np.pi / np.sqrt(3) * x)

    def below(x: np.ndarray) -> np.ndarray:  # of more than 38 standard deviations a double is 0
        return np.exp(np.longdouble(log_below(x)))

    with np.errstate(divide="ignore"):
        a = np.full(mean.shape, low) if np.isinf(low) else (low - mean) / sd
        b = np.full(mean.shape, high) if np.isinf(high) else (high - mean) / sd
    return np.where(a > 0, below(-a) - below(-b), below(b) - below(a))


def ordinal_nodes_of(fields: Mapping) -> Callable[[Parameters, Sequence[Said]], dict[str, int]]:
    def nodes(parameters: Parameters, table: Sequence[Said]) -> dict[str, int]:
        """Of the item that says most: answers with their information each, of one end of an interval or of both."""
        if not fields["shared"]:
            return {}
        with np.errstate(divide="ignore", invalid="ignore"):
            each = (parameters["shared_spread"] / parameters["sd"]) ** 2
            if fields["noise"] == "logistic":
                near = 2 * parameters["sd"] / (min(parameters["width"]) * len(parameters["width"]))
                each = each * np.pi**2 / 12 * np.clip(near, 1, 2)
        n = 8 / 1.1 * np.sqrt(1 + max(sum(each[j] for j, _ in said) for said in table))
        return {"n_z": int(np.ceil(n)) if n < 1000 else 1000}

    return nodes


def ordinal_states_of(fields: Mapping) -> Callable[[Parameters, Said], np.ndarray]:
    def states(parameters: Parameters, said: Said) -> np.ndarray:
        ends = [-np.inf, *thresholds_of(parameters["width"]), np.inf]
        n = parameters.get("n_z", 0)
        nodes = 8 * np.arange(-n, n + 1) / max(n, 1)
        spread = float(parameters.get("shared_spread", 0.0))
        joint = np.zeros(len(parameters["prevalence"]), dtype=np.longdouble)  # a product may be below 1e-308
        for truth, share in enumerate(parameters["prevalence"]):
            probability = np.longdouble(share) * norm.pdf(nodes) / norm.pdf(nodes).sum()  # (node,)
            for annotator, label in said:
                mean = truth - parameters["severity"][annotator] + spread * nodes
                sd = parameters["sd"][annotator]
                probability = probability * reported(fields["noise"], ends[label], ends[label + 1], mean, sd)
            joint[truth] = probability.sum()
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
