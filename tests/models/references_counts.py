"""Every model of counts a second time: NumPy, one item at a time, every latent enumerated, nothing shared with graphs.

A model of counts without an entry here fails the contract; add one to `REFERENCES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
from scipy.special import logsumexp
from scipy.stats import beta, dirichlet, halfnorm, norm

from bayesanno import CountData

Parameters = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class CountReference:
    """What a model says of one item's answers, and of its parameters before any item is seen."""

    variants: Mapping[str, dict]  # the fields that the contract is checked with
    data: CountData  # what it is checked on
    answers_logp: Callable[[Parameters, Sequence[int]], np.ndarray]  # log p(type, the answers in order), by type
    log_prior: Callable[[Parameters, Mapping, int], float]  # of parameters, fields, answers per item
    rates: Callable[[Parameters, int], np.ndarray]  # of positive answers, by type: the nearest to 1/2 is hard
    shares: tuple[str, ...]  # the parameters that can be 0 or 1


def count_probability(reference: CountReference, parameters: Parameters, x: int, n: int) -> np.ndarray:
    """p(type, x of n answers are positive), by type, summed over the orders of the answers."""
    orders = [answers for answers in product((0, 1), repeat=n) if sum(answers) == x]
    return np.sum([np.exp(reference.answers_logp(parameters, answers)) for answers in orders], axis=0)


def counts(*pairs: tuple[int, int]) -> CountData:
    successes, trials = zip(*pairs, strict=True)
    return CountData(
        items=tuple(f"s{i}" for i in range(1, len(pairs) + 1)), successes=list(successes), trials=list(trials)
    )


UNEQUAL = counts((1, 3), (0, 0), (3, 3), (0, 3), (1, 3), (2, 4), (1, 1), (4, 4), (3, 4))  # the second has no answer
EQUAL = counts((1, 4), (0, 4), (3, 4), (4, 4), (1, 4), (2, 4))


def gap_log_prior(values: np.ndarray, outer: float, inner: float) -> float:
    """Of ascending values between 0 and 1, whose gaps are Dirichlet."""
    gaps = np.diff([0.0, *values, 1.0])
    return dirichlet([outer, *[inner] * (len(values) - 1), outer]).logpdf(gaps / gaps.sum())


def weight_log_prior(weight: np.ndarray, concentration: float) -> float:
    return 0.0 if len(weight) == 1 else dirichlet(np.full(len(weight), concentration)).logpdf(weight)


# --------------------------------------------------------------------------------------------------- binomial mixture


def binomial_answers(parameters: Parameters, answers: Sequence[int]) -> np.ndarray:
    joint = []
    for weight, rate in zip(parameters["weight"], parameters["rate"], strict=True):
        probability = weight
        for answer in answers:
            probability = probability * (rate if answer else 1 - rate)
        joint.append(probability)
    with np.errstate(divide="ignore"):
        return np.log(joint)


def binomial_log_prior(parameters: Parameters, fields: Mapping, n: int) -> float:
    rate = gap_log_prior(parameters["rate"], *fields["rate_prior"])
    return weight_log_prior(parameters["weight"], fields["weight_prior"]) + rate


# --------------------------------------------------------------------------------------------------- gaussian mixture


def gaussian_answers(parameters: Parameters, answers: Sequence[int]) -> np.ndarray:
    x, n = sum(answers), len(answers)
    low, high = (-np.inf if x == 0 else x - 0.5), (np.inf if x == n else x + 0.5)
    logp = []
    for mean, sd in zip(parameters["mean"], parameters["sd"], strict=True):
        ends = norm(mean, sd).logcdf([high, low]) if high < mean else norm(mean, sd).logsf([low, high])
        logp.append(logsumexp(ends, b=[1, -1]))
    with np.errstate(divide="ignore"):
        return np.log(parameters["weight"]) + logp - np.log(comb(n, x))


def gaussian_log_prior(parameters: Parameters, fields: Mapping, n: int) -> float:
    mean = gap_log_prior(parameters["mean"] / n, *fields["mean_prior"]) - len(parameters["mean"]) * np.log(n)
    sd = halfnorm(scale=n * fields["sd_prior"]).logpdf(parameters["sd"]).sum()
    return weight_log_prior(parameters["weight"], fields["weight_prior"]) + mean + sd


# ------------------------------------------------------------------------------------------------- diligent and lazy


def diligent_lazy_answers(parameters: Parameters, answers: Sequence[int]) -> np.ndarray:
    """Who is lazy on which answer is enumerated as well."""
    xi, lazy_rate = float(parameters["diligence"]), float(parameters["lazy_rate"])
    joint = []
    for weight, rate in zip(parameters["weight"], parameters["rate"], strict=True):
        total = 0.0
        for lazy in product((False, True), repeat=len(answers)):
            probability = 1.0
            for answer, is_lazy in zip(answers, lazy, strict=True):
                positive = lazy_rate if is_lazy else rate
                probability *= (1 - xi if is_lazy else xi) * (positive if answer else 1 - positive)
            total += probability
        joint.append(weight * total)
    with np.errstate(divide="ignore"):
        return np.log(joint)


def diligent_lazy_log_prior(parameters: Parameters, fields: Mapping, n: int) -> float:
    total = beta(*fields["diligence_prior"]).logpdf(parameters["diligence"])
    total += beta(*fields["lazy_rate_prior"]).logpdf(parameters["lazy_rate"])
    if not fields["known"]:
        mean = np.array(fields["rate_mean"])
        strength = np.array(fields["rate_strength"])
        total += beta(strength * mean, strength * (1 - mean)).logpdf(parameters["rate"]).sum()
        if len(mean) > 1:
            concentration = fields["weight_strength"] * np.array(fields["weight_mean"])
            total += dirichlet(concentration).logpdf(parameters["weight"])
    return float(total)


THREE = {"weight_mean": (0.5, 0.2, 0.3), "rate_mean": (0.2, 0.55, 0.9)}

REFERENCES: dict[str, CountReference] = {
    "binomial_mixture": CountReference(
        variants={
            "three": {"types": 3, "weight_prior": 2.0, "rate_prior": (1.5, 3.0)},
            "one": {"types": 1, "rate_prior": (2.0, 1.0)},
        },
        data=UNEQUAL,
        answers_logp=binomial_answers,
        log_prior=binomial_log_prior,
        rates=lambda parameters, n: parameters["rate"],  # noqa: ARG005
        shares=("rate",),
    ),
    "gaussian_mixture": CountReference(
        variants={
            "three": {"types": 3, "weight_prior": 2.0, "mean_prior": (1.5, 3.0), "sd_prior": 0.4},
            "one": {"types": 1},
        },
        data=EQUAL,
        answers_logp=gaussian_answers,
        log_prior=gaussian_log_prior,
        rates=lambda parameters, n: parameters["mean"] / n,
        shares=(),
    ),
    "diligent_lazy": CountReference(
        variants={
            "three": THREE
            | {"rate_strength": (10.0, 20.0, 30.0), "weight_strength": 9.0, "lazy_rate_prior": (2.0, 3.0)},
            "known": THREE | {"known": True, "diligence_prior": (4.0, 1.5)},
            "one": {"weight_mean": (1.0,), "rate_mean": (0.3,)},
        },
        data=UNEQUAL,
        answers_logp=diligent_lazy_answers,
        log_prior=diligent_lazy_log_prior,
        rates=lambda parameters, n: parameters["rate"],  # noqa: ARG005
        shares=("rate", "diligence", "lazy_rate"),
    ),
}
