"""Hierarchical Dawid-Skene: annotators' confusion matrices are drawn around a population's (after Paun et al. 2018).

Generative process.  eta is the log odds of a wrong response v against the right one, log(lambda[psi, v] / lambda[psi,
psi]).  Items and answers are those of `model_b`.

    alpha_x             ~ Normal(0, tau)                              the ability of annotator x relative to the typical
    eta_x[psi, v]       ~ Normal(mu[psi, v] - alpha_x, sigma_psi)     annotator x, around the typical one
    lambda^x[psi, :]    = softmax of eta_x[psi, :], 0 for the right response
    C_n                 ~ Categorical(gamma)                          the true class of item n
    V_nx | C_n = psi    ~ Categorical(lambda^x[psi, :])               the answer of annotator x
    p(C_n = psi, V_n)   = gamma_psi  prod_x lambda^x[psi, v_x]        the likelihood is its sum over psi

Symbols, and priors.
    gamma    prevalence   (true_class)   ~ Dirichlet(3)
    lambda   confusion    (annotator, true_class, response): rows are true classes, columns are responses
    mu       population   (true_class, response): the typical annotator's matrix, whose log odds are mu
                          ~ Normal(log odds of a row with 0.75 right and all errors alike, 0.5)
    alpha    ability      (annotator): 0 is that of the typical annotator; it is subtracted from all log odds
    tau      ability_spread, ()          ~ Gamma(2, 2 / 0.5), with mean 0.5
    sigma    spread       (true_class)   ~ Gamma(2, 2), with mean 1: the sd of log odds among equally able annotators
    theta    accuracy     (annotator), a deterministic: sum_psi gamma_psi lambda^x[psi, psi]
Under the prior, an annotator is right in .70 of the cases on average with two labels, and in .63 with five (89% of
annotators: .36 to .93, and .39 to .83); in model B in .60, for any number of labels.

Identifiability.  Only the prior of `population` ties classes to labels.  Classes with few items may be swapped in
separate modes, more easily than in `model_b`.  A fit warns of classes that the typical annotator usually gives another
label: check these first.  The density peaks at a spread of 0, where it has no mass.  So a fit searches for modes at
fixed spreads, and `find_modes` refuses.  With two labels, `ability_spread` mixes slowest.

Use when there are many annotators, some with few answers, or when no prior is known.  `bayesanno.population_table` has
the typical annotator's rates; `bayesanno.predict_labels` accepts new annotators.  Avoid with fewer than three
annotators, which are too few to learn a population, or if items are borderline cases for everybody (`item_difficulty`).

References.
    S. Paun, B. Carpenter, J. Chamberlain, D. Hovy, U. Kruschwitz and M. Poesio (2018), Comparing Bayesian models of
    annotation, TACL 6:571-585, doi:10.1162/tacl_a_00040, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.fields import Fraction, Positive
from bayesanno._core.lazy import pm, xr
from bayesanno._core.messages import counted
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Priors
from bayesanno.modeling.expectation import Votes, in_proportion, votes_of
from bayesanno.modeling.findings import Finding, check
from bayesanno.modeling.independent import IndependentAnswers
from bayesanno.modeling.ops.variables import (
    centring_of,
    draw_rows,
    level_of,
    logistic_normal,
    normal_around,
    shift_centring_of,
    spread_of,
)
from bayesanno.models._habit import MATRICES, find_habits
from bayesanno.models._population import find_misnamed, find_unsaid
from bayesanno.models.model_b import ModelB

POOLED = 10  # weight, in answers, of the common confusion in the starting values of annotators


@dataclass(frozen=True, kw_only=True)
class HierarchicalDawidSkene(IndependentAnswers):
    """Dawid and Skene's model, with annotators drawn from a learnt population.

    Parameters
    ----------
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.
    confusion_accuracy : float, default 0.75
        The prior median of the typical annotator's accuracy, with all errors equally likely.
    confusion_spread : float, default 0.5
        The prior standard deviation of the typical annotator's log odds.
    spread_prior : float, default 1
        The prior mean of the standard deviation of log odds between equally able annotators.
    ability_spread_prior : float, default 0.5
        The prior mean of the standard deviation of abilities.

    Examples
    --------
    >>> from bayesanno.models import HierarchicalDawidSkene
    >>> HierarchicalDawidSkene(spread_prior=0.5).confusion_accuracy
    0.75
    """

    name: ClassVar[str] = "hierarchical_dawid_skene"
    competence: ClassVar[str | None] = "accuracy"
    takes_other_labels: ClassVar[bool] = True

    confusion_accuracy: Fraction = 0.75
    confusion_spread: Positive = 0.5
    spread_prior: Positive = 1.0
    ability_spread_prior: Positive = 0.5

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        expected = self._expected(data, prior)
        around = prior.confusion_spread * np.ones(data.n_classes)
        counts = self._counts(votes_of(data), data)
        known = counts, self._common(counts, data), data.class_codes
        apart = spread_of(*known, expected=self.spread_prior)  # only how well it samples depends on it
        w = centring_of(*known, apart)
        centring, of_ability = pm.Data("centring", w), pm.Data("ability_centring", shift_centring_of(w, apart))
        prevalence = self.declare_prevalence(prior)
        rows = ("true_class", "response")
        population = logistic_normal("population", expected, around, data.class_codes, centring=1.0, dims=rows)
        spread = pm.Gamma("spread", 2, 2 / prior.spread_prior, dims="true_class")
        ability_spread = pm.Gamma("ability_spread", 2, 2 / prior.ability_spread_prior)
        typical = level_of(population, data.class_codes)  # log odds of the right response against each error
        of_all = {"level": typical, "centring": of_ability, "dims": "annotator"}
        ability = normal_around("ability", 0.0, ability_spread, **of_all)
        around_typical = {"shift": -ability[:, None], "centring": centring, "dims": ("annotator", *rows)}
        confusion = logistic_normal("confusion", population, spread, data.class_codes, **around_typical)
        self.declare_accuracy(data, {"prevalence": prevalence, "confusion": confusion})

    tables, above_chance = ModelB.tables, ModelB.above_chance

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        votes = votes_of(data)
        counts = self._counts(votes, data)
        common = self._common(counts, data)
        return {
            "prevalence": in_proportion(votes.shares[data.class_codes] + self.prevalence_prior),
            "population": common,
            "spread": np.full(data.n_classes, self.spread_prior / 2),  # the prior's most probable one
            "confusion": in_proportion(counts + POOLED * common),
            "ability_spread": np.array(self.ability_spread_prior / 2),
            "ability": np.zeros(data.n_annotators),
        }

    def _expected(self, data: AnnotationData, prior: Any) -> Any:
        """Return the typical annotator's rows at the prior median, with equal errors: (true_class, response)."""
        right = data.names_class
        elsewhere = (1 - prior.confusion_accuracy) * (~right / (data.n_classes - 1))
        return prior.confusion_accuracy * right + elsewhere

    @staticmethod
    def _counts(votes: Votes, data: AnnotationData) -> np.ndarray:
        """Return counts of each annotator's responses by the class of the vote, (annotator, true_class, response)."""
        return votes.answers[:, :, data.class_codes].transpose(0, 2, 1)

    def _common(self, counts: np.ndarray, data: AnnotationData) -> np.ndarray:
        """Return the confusion of all annotators together, (true_class, response)."""
        return in_proportion(counts.sum(axis=0) + data.n_labels * self._expected(data, self))

    def scale_parameters(self) -> tuple[str, ...]:
        return ("spread", "ability_spread")

    def draw_annotators(
        self, draws: Mapping[str, np.ndarray], n: int, class_codes: np.ndarray, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        centre = draws["population"][:, None].repeat(n, axis=1)  # (draw, annotator, true_class, response)
        ability = draws["ability_spread"][:, None] * rng.standard_normal(centre.shape[:2])  # (draw, annotator)
        confusion = draw_rows(centre, draws["spread"][:, None], class_codes, rng, shift=-ability[..., None])
        return {"ability": ability, "confusion": confusion}

    @override
    def findings(self, data: AnnotationData) -> Iterator[Finding]:
        yield from find_unsaid(data)
        yield from find_habits(data, MATRICES)
        n = int((data.by_annotator > 0).sum())
        yield from check("population-few-annotators", n, ["spread"], n=counted(n, "annotator"))

    @override
    def findings_of_posterior(self, posterior: xr.Dataset) -> Iterator[Finding]:
        return find_misnamed(posterior["population"])
