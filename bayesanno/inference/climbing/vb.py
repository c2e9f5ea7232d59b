"""Variational Bayes: the approximation q(parameters) q(latents) of the posterior that is nearest to it.

The model's priors are Dirichlets, or Betas, which are Dirichlets of two shares. With q of that form, an item's latents
(its class; with MACE, who spams on it) taken together, the best q of one half given the other is known:

    q(shares)  = Dirichlet(c),   c = prior concentrations + expected counts
    q(latents) of an item ~ p(its latents, its answers | s),   s = exp(E log share) = exp(psi(c) - psi(sum c))

so that a step is an E-step of EM with shares s, that add up to less than 1, and the counts that it leads to (Hovy et
al. 2013, section 2.1; in general Beal 2003, chapter 2, https://cse.buffalo.edu/faculty/mbeal/thesis). Each step raises

    ELBO = sum over items of log sum over latents p(latents, answers | s)  -  sum KL(Dirichlet(c) || prior)

which is at most the log evidence p(data), and less by what q is away from the posterior: KL(q || posterior).

The invariant: concentrations are those of the prior or larger, and the ELBO is that of q(latents) at its best for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from bayesanno.ground.fields import AtLeast
from bayesanno.inference.climbing.climb import REST, Ascent, ClimbSettings, Problem, Step, to_shares
from bayesanno.modeling.expectation import expect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayesanno.inference.climbing.climb import Point
    from bayesanno.modeling.expectation import Shares

LEAST = np.finfo(float).tiny  # of exp(E log share), which is 0 as a double where a concentration is below 1/700


@dataclass(frozen=True, kw_only=True)
class VBSettings(ClimbSettings):
    """The settings of variational Bayes: those of `ClimbSettings`, and `draws * chains` are drawn, in one chain.

    Raises
    ------
    FitError
        If a value has the wrong type or lies outside its range.
    """

    draws: Annotated[int, AtLeast(4)] = 1000
    chains: Annotated[int, AtLeast(1)] = 4


class VB(Problem):
    """What variational Bayes maximises: the ELBO of a model and some items. A point is the concentrations of q."""

    name: ClassVar[str] = "VB"

    def step(self, point: Point) -> Step:
        """Take an E-step with q's shares, and add its counts to the prior; `log_likelihood` is of these shares."""
        logs = {name: expect_log(values) for name, values in point.items()}
        shares = _to_shares(logs)
        expected = expect(self.model, self.items, shares)
        counts = self.model.expected_counts(shares, expected, self.items.names_class)
        away = sum(
            float(measure_kl(values, self.prior[name], expected_log=logs[name]).sum()) for name, values in point.items()
        )
        moved = {name: prior + counts[name] for name, prior in self.prior.items()}
        return Step(expected.log_likelihood - away, expected.log_likelihood, moved)

    def keep_inside(self, point: Point, last: Point) -> dict[str, np.ndarray]:
        """Return concentrations of which none is below the prior's."""
        return {
            name: np.where(point[name] >= prior, point[name], prior + REST * (last[name] - prior))
            for name, prior in self.prior.items()
        }

    def e_step_shares(self, point: Point) -> Shares:
        """Return exp(E log share), which add up to less than 1."""
        return _to_shares({name: expect_log(values) for name, values in point.items()})

    def mean_shares(self, point: Point) -> Shares:
        """Return the means of the shares under q."""
        return {name: to_shares(values) for name, values in point.items()}

    def begin(self, shares: Shares) -> Ascent:
        """Begin at the counts that the start's own shares lead to, and the prior."""
        counts = self.model.expected_counts(shares, expect(self.model, self.items, shares), self.items.names_class)
        return super().begin({name: prior + counts[name] for name, prior in self.prior.items()})


def _to_shares(logs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.maximum(np.exp(values), LEAST) for name, values in logs.items()}


def expect_log(concentrations: np.ndarray) -> np.ndarray:
    """Return E log share of Dirichlets (..., share).

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.climbing.vb import expect_log
    >>> np.exp(expect_log(np.array([2.0, 1.0]))).round(4)
    array([0.6065, 0.2231])
    """
    from scipy.special import psi

    found: np.ndarray = psi(concentrations) - psi(concentrations.sum(axis=-1, keepdims=True))
    return found


def log_normaliser(concentrations: np.ndarray) -> np.ndarray:
    """Return the log of the integral that a Dirichlet (..., share) is divided by; shape (...)."""
    from scipy.special import gammaln

    found: np.ndarray = gammaln(concentrations).sum(axis=-1) - gammaln(concentrations.sum(axis=-1))
    return found


def measure_kl(one: np.ndarray, other: np.ndarray, *, expected_log: np.ndarray | None = None) -> np.ndarray:
    """Return KL(Dirichlet(one) || Dirichlet(other)) of Dirichlets (..., share), in nats; shape (...).

    `expected_log` is `expect_log(one)`, where that is known.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesanno.inference.climbing.vb import measure_kl
    >>> measure_kl(np.array([2.0, 1.0]), np.array([1.0, 1.0])).round(6).item()  # log 2 - 1/2
    0.193147
    """
    logs = expect_log(one) if expected_log is None else expected_log
    apart: np.ndarray = log_normaliser(other) - log_normaliser(one) + ((one - other) * logs).sum(axis=-1)
    return apart


def log_dirichlet(log_shares: np.ndarray, concentrations: np.ndarray) -> np.ndarray:
    """Return log densities of Dirichlets at the logs of shares, (draw, ..., share); shape (draw, ...)."""
    found: np.ndarray = ((concentrations - 1) * log_shares).sum(axis=-1) - log_normaliser(concentrations)
    return found


def draw_log_shares(concentrations: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the logs of shares from Dirichlets (..., share), shape (draw, ..., share).

    A share of a small concentration may be 0 as a double, and its log is not: a Gamma(c) is a Gamma(c + 1) times a
    uniform number to the power of 1 / c.
    """
    shape = (n, *concentrations.shape)
    log_gamma = np.log(rng.standard_gamma(concentrations + 1, shape))
    log_gamma -= rng.standard_exponential(shape) / concentrations
    log_gamma -= log_gamma.max(axis=-1, keepdims=True)
    log_gamma -= np.log(np.exp(log_gamma).sum(axis=-1, keepdims=True))
    return log_gamma
