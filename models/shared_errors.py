"""Shared errors: items on which annotators fail together, each annotator to a different extent.

Generative process.  An item has one true class and a difficulty, as in `item_difficulty`.  Annotators depend on it to
different extents: some are misled by every item that misleads the others, some hardly at all.  An item can be so hard
that most annotators give the same wrong label.  Their answers then depend on each annotator's habits.

    C_i                   ~ Categorical(prevalence)                         the true class of item i
    Z_i                   ~ Normal(0, 1)                                    its difficulty is d_i = spread Z_i
    p(v_ij | k, z)        proportional to exp(habit_jv + [v = k] g_ij)      of the answers v to an item of class k
    g_ij                  = log(K - 1) + ability_j - loading_j d_i          ability_j - loading_j d_i: log-odds of right
    p(V_i)                = sum_k prevalence_k integral N(z) prod_j p(v_ij | k, z) dz     C_i and Z_i are integrated out

This is the random-effects model of diagnostic tests (Qu, Tan and Kutner 1996) with a logistic link, habits and any
number of classes.  With a loading of 1 for all annotators it is `item_difficulty` with form="1pl".

Symbols, and priors: as in `item_difficulty`, except for the loading.
    ability     (annotator)            ~ Normal(2, 1.5): log-odds of being right on an average item, without habits
    loading     (annotator)            ~ LogNormal(0, 0.5): the effect of the difficulty; for two annotators in three
                         it is .6 to 1.6 times the typical one
    habit       (annotator, response)  ~ Normal(0, 1) minus its mean: log-odds of a label regardless of the item
    spread      ()                     ~ HalfNormal(1): standard deviation of the difficulties
    prevalence  (true_class)           ~ Dirichlet(3)
    accuracy    (annotator)            deterministic: P(right) on a random item, with difficulty integrated out
    derived for an item: `difficulty`, its posterior in bins `difficulty_probability`, and `expected_accuracy`

Identifiability.  With two classes, the class and the shared error of some annotators can be exchanged, however many
answers there are: the fit of a latent-class model does not identify the dependence of errors (Albert and Dodd 2004).
So a fit of two labels without controls warns beforehand.  The prior of the ability, centred above 0, keeps the names of
the classes.  Loadings pay off from about eight answers per item.

Use when annotators, especially language models, fail on the same items, and there are many answers per item.  Labels
are still overconfident: recalibrate them (`bayesanno.recalibrate`).  Avoid when items have few answers; use
`item_difficulty`.  If groups of annotators fail separately, the fit names pairs who agree too often.

References.
    Y. Qu, M. Tan and M. H. Kutner (1996), Random effects models in latent class analysis for evaluating accuracy of
    diagnostic tests, Biometrics 52(3):797-810, doi:10.2307/2533043.
    P. S. Albert and L. E. Dodd (2004), A cautionary note on the robustness of latent class models for estimating
    diagnostic error without a gold standard, Biometrics 60(2):427-435, doi:10.1111/j.0006-341X.2004.00187.x.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt, xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Design, Parameters, Priors
from bayesanno.modeling.difficulty import DifficultyModel, draw_responses, start_near_vote
from bayesanno.modeling.findings import Finding, check, find


@dataclass(frozen=True, kw_only=True)
class SharedErrors(DifficultyModel):
    """Abilities of annotators against difficulties of items, with a loading of the difficulty for each annotator.

    Parameters
    ----------
    ability_prior : tuple of two floats, default (2, 1.5)
        Mean and standard deviation of the normal prior of the abilities.
    spread_prior : float, default 1
        Scale of the half-normal prior of the standard deviation of difficulties.
    loading_prior : float, default 0.5
        Standard deviation of the log loadings; the median loading is 1.
    habit_prior : float, default 1
        Standard deviation of habits, before their mean is subtracted.
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.

    Examples
    --------
    >>> from bayesanno.models import SharedErrors
    >>> SharedErrors(loading_prior=1).ability_prior
    (2.0, 1.5)
    """

    name: ClassVar[str] = "shared_errors"
    competence: ClassVar[str | None] = "accuracy"

    ability_prior: tuple[float, Positive] = (2.0, 1.5)
    spread_prior: Positive = 1.0
    loading_prior: Positive = 0.5
    habit_prior: Positive = 1.0

    @override
    def findings(self, data: AnnotationData) -> Iterator[Finding]:
        few = check("shared-few-answers", np.bincount(data.item, minlength=1).max())
        yield from few
        if not few and data.n_classes == 2 and not data.controls:
            yield find("shared-without-controls")

    @override
    def findings_of_posterior(self, posterior: xr.Dataset) -> tuple[()]:
        return ()  # difficulties may be as wide as they are: they stand for errors that annotators share

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        p = {
            "prevalence": self.declare_prevalence(prior),
            "spread": pm.HalfNormal("spread", prior.spread_prior),
            "ability": pm.Normal("ability", prior.ability_prior[0], prior.ability_prior[1], dims="annotator"),
            "loading": pm.LogNormal("loading", 0, prior.loading_prior, dims="annotator"),
            "habit": pm.ZeroSumNormal("habit", sigma=prior.habit_prior, dims=("annotator", "response")),
        }
        self.declare_accuracy(data, Parameters(p))

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        true_class = design.draw_classes(p)  # (item,)
        z = pm.Normal.dist(shape=(design.n_items,), name="shared_error")[design.item]  # (annotation,)
        log_odds = self.log_odds(p, design.annotator, z, None, design.n_classes)
        return true_class, draw_responses(design, true_class, log_odds, p.habit)

    def log_odds(self, p: Parameters, annotator: Any, z: Any, slope: Any, n_classes: int) -> pt.TensorVariable:
        return pt.log(n_classes - 1) + p.ability[annotator] - p.loading[annotator] * p.spread * z

    def information(self, p: Parameters) -> tuple[tuple[pt.TensorVariable, pt.TensorVariable], ...]:
        information = (p.loading * p.spread) ** 2 / 4  # (annotator,)
        return ((information, pt.zeros(())),)

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        return start_near_vote(data) | {"loading": np.ones(data.n_annotators)}
