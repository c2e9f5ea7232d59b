"""Hierarchical Dawid-Skene: annotators' confusion matrices are drawn around a population's (after Paun et al. 2018).

Generative process.  eta is the log odds of a wrong response v against the right one, log(lambda[psi, v] / lambda[psi,
psi]).  Items and answers are those of `model_b`.

    alpha_x             ~ Normal(0, tau)                              how much abler annotator x is than the typical one
    eta_x[psi, v]       ~ Normal(mu[psi, v] - alpha_x, sigma_psi)     annotator x, around the typical one
    lambda^x[psi, :]    = softmax of eta_x[psi, :], 0 for the right response
    C_n                 ~ Categorical(gamma)                          the true class of item n
    V_nx | C_n = psi    ~ Categorical(lambda^x[psi, :])               what annotator x says of it
    p(C_n = psi, V_n)   = gamma_psi  prod_x lambda^x[psi, v_x]        the likelihood is its sum over psi

Symbols, and priors.
    gamma    prevalence   (true_class)   ~ Dirichlet(3)
    lambda   confusion    (annotator, true_class, response): rows are the truth, columns what was said
    mu       population   (true_class, response): the typical annotator's matrix, whose log odds are mu
                          ~ Normal(log odds of a row with 0.75 right and all errors alike, 0.5)
    alpha    ability      (annotator): 0 is that of the typical annotator; it is taken from all log odds
    tau      ability_spread, ()          ~ Gamma(2, 2 / 0.5), with mean 0.5
    sigma    spread       (true_class)   ~ Gamma(2, 2), with mean 1: how much equally able ones differ, in log odds
    theta    accuracy     (annotator), a deterministic: sum_psi gamma_psi lambda^x[psi, psi]
One annotator alone is then right in .70 of the cases on average of two labels, in .63 of five (94% of annotators: .32
to .94, and .35 to .86); in model B in .60, for any number of labels.

Identifiability.  Only `population` ties classes to labels, by its prior: classes of few items may be swapped in modes
of their own, more easily than in `model_b`.  A fit names the classes that the typical annotator calls by other names:
check these first.  The density has its peak at a spread of 0, where it has no mass: a fit searches the modes of the
spreads, all else summed out, and `find_modes` refuses.  With two labels `ability_spread` mixes slowest.

Use when annotators are many, and some gave few answers, or when no prior is known.  `bayesanno.population_table` has
the typical annotator's rates; `bayesanno.predict_labels` takes new annotators.  Avoid with fewer than three annotators,
which are too few to learn a population, or where items are borderline cases for everybody (`item_difficulty`).

References.
    S. Paun, B. Carpenter, J. Chamberlain, D. Hovy, U. Kruschwitz and M. Poesio (2018), Comparing Bayesian models of
    annotation, TACL 6:571-585, doi:10.1162/tacl_a_00040, section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.fields import Fraction, Positive
from bayesanno.ground.lazy import pm, xr
from bayesanno.modeling.arguments import Priors
from bayesanno.modeling.capabilities import HasCaveats, HasPopulation, HasRemarks
from bayesanno.modeling.expectation import Votes, in_proportion, votes_of
from bayesanno.modeling.independent import IndependentAnswers
from bayesanno.modeling.ops.variables import centring_of, level_of, logistic_normal, normal_around, shift_centring_of
from bayesanno.models._habit import MATRICES, explain_habits
from bayesanno.models._population import explain_names, explain_unsaid
from bayesanno.models.model_b import ModelB

POOLED = 10  # answers that the common confusion counts for in an annotator's, where chains start
FEW = 3  # annotators: fewer show almost nothing of how annotators differ


@dataclass(frozen=True, kw_only=True)
class HierarchicalDawidSkene(IndependentAnswers, HasCaveats, HasPopulation, HasRemarks):
    """Dawid and Skene's model, with annotators drawn from a population that is learnt.

    Parameters
    ----------
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether items have one prevalence, or what is known of them says more.
    confusion_accuracy : float, default 0.75
        The prior median of how often the typical annotator is right, all errors alike.
    confusion_spread : float, default 0.5
        The prior standard deviation of the typical annotator's log odds.
    spread_prior : float, default 1
        The prior mean of the standard deviation of log odds between annotators who are equally able.
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
    derives_accuracy: ClassVar[bool] = True
    takes_other_labels: ClassVar[bool] = True

    confusion_accuracy: Fraction = 0.75
    confusion_spread: Positive = 0.5
    spread_prior: Positive = 1.0
    ability_spread_prior: Positive = 0.5

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        expected = self._expected(data, prior)
        around = prior.confusion_spread * np.ones(data.n_classes)
        counts = self._counts(votes_of(data), data)
        w = centring_of(counts, self._common(counts, data), data.class_codes)
        centring, of_ability = pm.Data("centring", w), pm.Data("ability_centring", shift_centring_of(w))
        prevalence = self.declare_prevalence(prior)
        rows = ("true_class", "response")
        population = logistic_normal("population", expected, around, data.class_codes, centring=1.0, dims=rows)
        spread = pm.Gamma("spread", 2, 2 / prior.spread_prior, dims="true_class")
        ability_spread = pm.Gamma("ability_spread", 2, 2 / prior.ability_spread_prior)
        typical = level_of(population, data.class_codes)  # of being right, against each error
        of_all = {"level": typical, "centring": of_ability, "dims": "annotator"}
        ability = normal_around("ability", 0.0, ability_spread, **of_all)
        around_typical = {"shift": -ability[:, None], "centring": centring, "dims": ("annotator", *rows)}
        confusion = logistic_normal("confusion", population, spread, data.class_codes, **around_typical)
        self.declare_accuracy(data, {"prevalence": prevalence, "confusion": confusion})

    law, generate = ModelB.law, ModelB.generate

    def start_from(self, votes: Votes, data: Any) -> dict[str, np.ndarray]:
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
        """Return the row of the typical annotator at the prior's median, all errors alike: (true_class, response)."""
        right = data.names_class
        elsewhere = (1 - prior.confusion_accuracy) * (~right / (data.n_classes - 1))
        return prior.confusion_accuracy * right + elsewhere

    @staticmethod
    def _counts(votes: Votes, data: AnnotationData) -> np.ndarray:
        """Return what each annotator said where the vote has which class, (annotator, true_class, response)."""
        return votes.answers[:, :, data.class_codes].transpose(0, 2, 1)

    def _common(self, counts: np.ndarray, data: AnnotationData) -> np.ndarray:
        """Return the confusion of all annotators together, (true_class, response)."""
        return in_proportion(counts.sum(axis=0) + data.n_labels * self._expected(data, self))

    def caveats(self, data: AnnotationData) -> list[str]:
        n_answering = int((data.by_annotator > 0).sum())
        found = [*explain_unsaid(data), *explain_habits(data, MATRICES)]
        if n_answering < FEW:
            who = "one annotator" if n_answering == 1 else f"{n_answering} annotators"
            found.append(
                f"{who} gave all answers, too few to learn a population of annotators: spread keeps its prior; "
                "fit model_b"
            )
        return found

    def remarks(self, posterior: xr.Dataset) -> list[str]:
        return explain_names(posterior["population"])
