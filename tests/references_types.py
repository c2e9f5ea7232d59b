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


def easy_hard_log_prior(parameters: Parameters, fields: Mapping) -> float:
    n_labels = len(parameters["easy_prevalence"])
    total = beta(*fields["hard_prior"]).logpdf(parameters["hard_fraction"])
    total += dirichlet(np.full(n_labels, fields["easy_prevalence_prior"])).logpdf(parameters["easy_prevalence"])
    total += sum(dirichlet(np.full(n_labels, fields["coin_prior"])).logpdf(row) for row in parameters["coin"])
    if fields["easy_error"] == "learnt":
        total += beta(*fields["slip_prior"]).logpdf(parameters["slip"]).sum()
    return float(total)
