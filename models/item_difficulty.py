"""Item difficulty: abler annotators are right more often, and more often on easier items (GLAD and 2PL).

Generative process.  An item has one true class and a difficulty.  An able annotator gives the true class of most items.
The harder the item, the closer all annotators are to guessing, each with their own habits.

    C_i                 ~ Categorical(prevalence)                           the true class of item i
    Z_i                 ~ Normal(0, 1)                                      its difficulty is d_i = spread Z_i
    p(v_ij | k, z)      proportional to exp(habit_jv + [v = k] g_ij)        of the answers v to an item of class k
    g_ij                = log(K - 1) + log p_ij / (1 - p_ij)                p_ij: right, if habits are 0
    log p_ij / (1 - p_ij) = ability_j exp(-d_i) - log(K - 1)                form="chance": hardest items have 1 / K
                          = ability_j exp(-d_i)                             form="glad": hardest items have 1 / 2
                          = ability_j - d_i                                 form="1pl": hardest items have 0
                          = exp(slope_spread S_i) (ability_j - d_i)         form="2pl", with S_i ~ Normal(0, 1)
    p(V_i)              = sum_k prevalence_k integral N(z) prod_j p(v_ij | k, z) dz       C_i and Z_i are integrated out

Without habits (habits=False), "glad" is the model of Whitehill et al., with easiness exp(-d_i); "1pl" and "2pl" are the
logistic models of item response theory ("2pl" is Carpenter's), with any number of classes and an unknown class.

Symbols, and priors.
    ability       (annotator)            ~ Normal(2, 1.5): log-odds; with two classes, .88 of average items are right
    habit         (annotator, response)  ~ Normal(0, habit_prior) minus its mean, 1 by default: when guessing, one
                         annotator in three gives one of two labels four times as often as the other
    spread        ()                     ~ HalfNormal(1): at 1, one item in six is e times harder than the average
    slope_spread  ()                     ~ HalfNormal(0.5), with form="2pl"
    prevalence    (true_class)           ~ Dirichlet(3), as in model B
    accuracy      (annotator)            deterministic: P(right) on a random item, with difficulty integrated out
    derived for an item: `difficulty`, its posterior in bins `difficulty_probability`, and `expected_accuracy`
Under the prior, an annotator is right in .76 of the cases on average with two labels, and in .55 with five.

Identifiability.  With two labels, negative abilities and swapped classes explain answers equally well; the prior of the
ability, centred above 0, decides.  A habit that all annotators share looks like a common class.  With "1pl" and "2pl"
everyone is wrong about a sufficiently hard item.  A majority may then be explained as a trap, and with two classes,
labels can be worse than the vote.  Items with one answer each do not identify difficulties.

Use when some items are harder than others for everybody, and the question is which.  Avoid with two annotators (chains
mix slowly), and when annotators confuse particular classes: `hierarchical_dawid_skene` and `model_b` model confusions.

References.
    J. Whitehill, P. Ruvolo, T. Wu, J. Bergsma and J. Movellan (2009), Whose vote should count more: optimal integration
    of labels from labelers of unknown expertise, NIPS 22, pages 2035-2043, equation 2,
    https://papers.nips.cc/paper/2009/hash/f899139df5e1059396431415e770c6dd-Abstract.html.
    B. Carpenter (2008), Multilevel Bayesian models of categorical data annotation, unpublished manuscript.
    G. Rasch (1960), Probabilistic models for some intelligence and attainment tests; A. Birnbaum (1968), in F. M. Lord
    and M. R. Novick, Statistical theories of mental test scores: the logistic models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Design, Parameters, Priors
from bayesanno.modeling.difficulty import DifficultyModel, draw_responses, start_near_vote
from bayesanno.modeling.findings import Finding, check, find


@dataclass(frozen=True, kw_only=True)
class ItemDifficulty(DifficultyModel):
    """Abilities of annotators against difficulties of items.

    Parameters
    ----------
    form : {"chance", "glad", "1pl", "2pl"}, default "chance"
        How ability and difficulty determine the probability of a right answer: by their product, with accuracy at
        chance or one half on the hardest items; or by their difference, without and with item discriminations.
    ability_prior : tuple of two floats, default (2, 1.5)
        Mean and standard deviation of the normal prior of the abilities.
    spread_prior : float, default 1
        Scale of the half-normal prior of the standard deviation of difficulties.
    slope_prior : float, default 0.5
        Scale of the half-normal prior of the standard deviation of log discriminations.
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.
    habits : bool, default True
        Whether each annotator has their own preferences for labels, regardless of the item.
    habit_prior : float, default 1
        Standard deviation of habits, before their mean is subtracted.

    Examples
    --------
    >>> from bayesanno.models import ItemDifficulty
    >>> ItemDifficulty(form="2pl").slope_prior
    0.5
    """

    name: ClassVar[str] = "item_difficulty"
    competence: ClassVar[str | None] = "accuracy"

    form: Literal["chance", "glad", "1pl", "2pl"] = "chance"
    ability_prior: tuple[float, Positive] = (2.0, 1.5)
    spread_prior: Positive = 1.0
    slope_prior: Positive = 0.5
    habits: bool = True
    habit_prior: Positive = 1.0

    @property
    def support(self) -> float:
        return (
            super().support if self.form in ("1pl", "2pl") else 5.0
        )  # where the hardest items still have right answers

    @property
    def ability_is_above_chance(self) -> bool:
        return self.form == "chance"

    @override
    def findings(self, data: AnnotationData) -> Iterator[Finding]:
        yield from check("difficulty-one-answer", np.bincount(data.item, minlength=1).max())
        if data.n_classes == 2 and self.form in ("1pl", "2pl"):
            yield find("difficulty-wrong-majority", form=self.form)

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        p = {"ability": pm.Normal("ability", prior.ability_prior[0], prior.ability_prior[1], dims="annotator")}
        p["spread"] = pm.HalfNormal("spread", prior.spread_prior)
        if self.form == "2pl":
            p["slope_spread"] = pm.HalfNormal("slope_spread", prior.slope_prior)
        p["prevalence"] = self.declare_prevalence(prior)
        if self.habits:
            p["habit"] = pm.ZeroSumNormal("habit", sigma=prior.habit_prior, dims=("annotator", "response"))
        self.declare_accuracy(data, Parameters(p))

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        true_class = design.draw_classes(p)  # (item,)
        numbers = (pm.Normal.dist(shape=(design.n_items,), name=name) for name in ("difficulty", "slope"))  # (item,)
        z, slope = (number[design.item] for number in numbers)  # (annotation,)
        log_odds = self.log_odds(p, design.annotator, z, slope, design.n_classes)
        return true_class, draw_responses(design, true_class, log_odds, p.get("habit"))

    def log_odds(self, p: Parameters, annotator: Any, z: Any, slope: Any, n_classes: int) -> pt.TensorVariable:
        ability, d, chance = p.ability[annotator], p.spread * z, pt.log(n_classes - 1)
        if self.form == "chance":
            return ability * pt.exp(-d)
        if self.form == "glad":
            return chance + ability * pt.exp(-d)
        return chance + (pt.exp(p.slope_spread * slope) if self.form == "2pl" else 1.0) * (ability - d)

    def information(self, p: Parameters) -> tuple[tuple[pt.TensorVariable, pt.TensorVariable], ...]:
        of_each = pt.ones_like(p.ability)

        def of_factor(spread: Any) -> tuple[pt.TensorVariable, pt.TensorVariable]:
            """Of a number that multiplies log-odds x by its exp: x^2 p (1 - p) is at most .44."""
            return of_each * spread**2 / 2, 4 * spread**2

        if self.form in ("chance", "glad"):
            return (of_factor(p.spread),)
        steepness = p.spread * (pt.exp(2 * p.slope_spread) if self.form == "2pl" else 1.0)  # of one item in forty
        of_z = of_each * steepness**2 / 4, pt.zeros(())
        return (of_z, of_factor(p.slope_spread)) if self.form == "2pl" else (of_z,)

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        values = start_near_vote(data)
        if self.form == "chance":
            values["ability"] += np.log(data.n_classes - 1)
        if self.form == "2pl":
            values["slope_spread"] = np.array(0.3)
        return {name: value for name, value in values.items() if name != "habit" or self.habits}
