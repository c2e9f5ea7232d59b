"""Models of item types a second time: NumPy, one item at a time, every latent enumerated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from scipy.stats import beta, dirichlet

Parameters = Mapping[str, np.ndarray]
Said = Sequence[tuple[int, int]]  # one item's (annotator, label) pairs


# ------------------------------------------------------------------------------------------------- easy and hard items


def easy_hard_states(parameters: Parameters, said: Said) -> np.ndarray:
    """p(easy with each label, and hard; the answers), every choice of who slips enumerated."""
    coin, prevalence, hard = parameters["coin"], parameters["easy_prevalence"], float(parameters["hard_fraction"])
    n_labels = len(prevalence)
    slip = parameters.get("slip", np.zeros(len(coin)))
    joint = np.zeros(n_labels + 1)
    for seen in range(n_labels):
        for slips in product((False, True), repeat=len(said)):
            probability = (1 - hard) * prevalence[seen]
            for (annotator, label), slipped in zip(said, slips, strict=True):
                if slipped:
                    probability *= slip[annotator] * (0.0 if label == seen else 1 / (n_labels - 1))
                else:
                    probability *= (1 - slip[annotator]) * (label == seen)
            joint[seen] += probability
    flips = [coin[annotator][label] for annotator, label in said]
    joint[n_labels] = hard * np.prod(flips)
    return joint


def easy_hard_hard(parameters: Parameters, said: Said, joint: np.ndarray, control: int) -> np.ndarray:
    return joint[-1] / joint.sum()


def easy_hard_known(joint: np.ndarray, parameters: Parameters, said: Said, control: int) -> np.ndarray:
    """A known label leaves the item easy with that label, or hard; it comes from the prevalence either way."""
    kept = np.zeros_like(joint)
    kept[control] = joint[control]
    kept[-1] = joint[-1] * parameters["easy_prevalence"][control]
    return kept


def easy_hard_log_prior(parameters: Parameters, fields: Mapping) -> float:
    n_labels = len(parameters["easy_prevalence"])
    total = beta(*fields["hard_prior"]).logpdf(parameters["hard_fraction"])
    total += dirichlet(np.full(n_labels, fields["easy_prevalence_prior"])).logpdf(parameters["easy_prevalence"])
    total += sum(dirichlet(np.full(n_labels, fields["coin_prior"])).logpdf(row) for row in parameters["coin"])
    if fields["easy_error"] == "learnt":
        total += beta(*fields["slip_prior"]).logpdf(parameters["slip"]).sum()
    return float(total)


# ------------------------------------------------------------------------------------- diligent and lazy annotators


def diligent_lazy_annotators_states(parameters: Parameters, said: Said) -> np.ndarray:
    """p(type, the answers), every choice of which answers are diligent enumerated."""
    diligence, lazy_rate = parameters["diligence"], float(parameters["lazy_rate"])
    joint = np.zeros(len(parameters["weight"]))
    for item_type, rate in enumerate(parameters["rate"]):
        for choice in product((True, False), repeat=len(said)):
            probability = parameters["weight"][item_type]
            for (annotator, label), diligent in zip(said, choice, strict=True):
                positive = rate if diligent else lazy_rate
                probability *= diligence[annotator] if diligent else 1 - diligence[annotator]
                probability *= positive if label == 1 else 1 - positive
            joint[item_type] += probability
    return joint


def nearest_to_a_half(parameters: Parameters, said: Said, joint: np.ndarray, control: int) -> np.ndarray:
    """P(the item is of the type whose rate is nearest to one half)."""
    distance = [abs(float(rate) - 0.5) for rate in parameters["rate"]]
    return joint[distance.index(min(distance))] / joint.sum()


def diligent_lazy_annotators_log_prior(parameters: Parameters, fields: Mapping) -> float:
    rate, weight = parameters["rate"], parameters["weight"]
    outer, inner = fields["rate_prior"]
    gaps = np.diff([0.0, *rate, 1.0])
    total = dirichlet([outer, *[inner] * (len(rate) - 1), outer]).logpdf(gaps)
    total += dirichlet(np.full(len(weight), fields["weight_prior"])).logpdf(weight)
    total += beta(*fields["diligence_prior"]).logpdf(parameters["diligence"]).sum()
    total += beta(*fields["lazy_rate_prior"]).logpdf(parameters["lazy_rate"])
    return float(total)
