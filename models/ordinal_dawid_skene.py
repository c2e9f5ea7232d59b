"""Ordinal Dawid-Skene: ordered grades, which severe and lenient annotators perceive with individual noise.

Use to see who is severe and who is consistent, for ordered labels declared with `labels=` from the lowest to the
highest.  For the grades themselves use `mace`: in the one available table of real grades with true ones, `mace` gets
.80 of them right, the median answer .78, this model .68 and `model_b` .65 (notebooks/benchmarks.md).  Avoid when
distant labels are confused as often as neighbours: fit `model_b`, and let `bayesanno.compare` decide.

Annotators who share errors, such as copies of one base model, can get a small sd together, and their answers become
the true grades: with three copies among twelve annotators .60 of the grades were right, with one .91.  A fit warns.

Generative process.  The grades are 1 ... K, or the labels' own numbers if these increase by 1.  Annotators perceive an
item's grade too high or too low, and report the grade of the interval, between common thresholds, that it falls into.

    C_i            ~ Categorical(prevalence)                                the true grade of item i
    perceived_ij   = C_i - severity_j + sd_j noise_ij                       noise has mean 0 and standard deviation 1
                     (+ shared_spread U_i, with U_i ~ Normal(0, 1))         shared=True: an error common to all
    V_ij           = 1 + the number of thresholds below perceived_ij
    threshold_v    = K (width_1 + ... + width_v) + 1/2                      v + 1/2 if all widths are 1 / K
    P(V <= v | C = k) = F((threshold_v - k + severity_j) / sd_j)            F: noise="logistic" or "normal"
    severity_j     ~ Normal(0, severity_spread)
    log sd_j       ~ Normal(log typical_sd, sd_spread)
    p(C_i, V_i)    = prevalence_C prod_j P(v_ij | C)                        the likelihood is its sum over C

Symbols, and priors.
    prevalence       (true_class)   ~ Dirichlet(3)
    width            (response)     ~ Dirichlet(10): the interval of each label, as a share of the scale from 1/2 to
                         K + 1/2; with five labels, thresholds have a standard deviation of .28 to .34
    threshold        (boundary)     deterministic: the boundaries between the intervals of neighbouring labels
    severity         (annotator)    how many grades too low an annotator perceives items; below 0, too high: lenient
    severity_spread  ()             ~ Gamma(2, 2 / severity_prior), with mean 0.3: 89% of annotators are within .54
    sd               (annotator)    standard deviation of an annotator's noise, in grades; consistency is 1 / sd
    typical_sd       ()             ~ LogNormal(log .5, .5): the median annotator's noise is half a grade
    sd_spread        ()             ~ Gamma(2, 2 / sd_spread_prior), with mean 0.4: 89% of sds are from .17 to 1.5
    shared_spread    ()             ~ HalfNormal(0.3), with shared=True
    accuracy         (annotator)    deterministic: P(V_ij = C_i), over items of all grades
Under the prior, annotators are right in .78 of the cases on average with two labels, and in .63 with five.

Identifiability.  The positions of the grades give the unit.  Lower severities with higher thresholds give the same
answers; only the mean severity of 0 and the fixed total width prevent this.  Grades cannot be permuted.  With
shared=True, at least three answers per item are needed to distinguish noise from a common error.  With few annotators
there can be two modes with different thresholds and sds, which the search for modes finds.

References.
    S. Rogers, M. Girolami and T. Polajnar (2010), Semi-parametric analysis of multi-rater data, Statistics and
    Computing 20:317-334, doi:10.1007/s11222-009-9125-z.
    B. Lakshminarayanan and Y. W. Teh (2013), Inferring ground truth from multi-annotator ordinal data: a probabilistic
    approach, arXiv:1305.0015.
    M. Uto and M. Ueno (2020), A generalized many-facet Rasch model and its Bayesian estimation using Hamiltonian Monte
    Carlo, Behaviormetrika 47:469-496, doi:10.1007/s41237-020-00115-7; the true score is continuous there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.arguments import Answers, Design, Parameters, Priors
from bayesanno.modeling.expectation import in_proportion, votes_of
from bayesanno.modeling.findings import Finding
from bayesanno.modeling.item_effects import ItemEffectModel, quadrature_nodes
from bayesanno.modeling.ops.intervals import STEEP, Noise
from bayesanno.modeling.ops.variables import centre_by, normal_around
from bayesanno.models import _grades
from bayesanno.models._order import find_order


@dataclass(frozen=True, kw_only=True)
class OrdinalDawidSkene(ItemEffectModel):
    """A true grade that annotators perceive with bias and noise, and report by common thresholds.

    Parameters
    ----------
    noise : {"logistic", "normal"}, default "logistic"
        The distribution of the noise in the perceived grade.
    shared : bool, default False
        Whether all annotators also share an error on each item.
    sd_prior : tuple of two floats, default (0.5, 0.5)
        Median of the log-normal prior of the median annotator's noise, in grades, and standard deviation of its log.
    sd_spread_prior : float, default 0.4
        Prior mean of the standard deviation of log noise between annotators.
    severity_prior : float, default 0.3
        Prior mean of the standard deviation of severities between annotators, in grades.
    width_prior : float, default 10
        Concentration of the symmetric Dirichlet prior of the widths of the labels' intervals.
    shared_prior : float, default 0.3
        Scale of the half-normal prior of the standard deviation of the common error, in grades.
    prevalence_prior : float, default 3
        Concentration of the symmetric Dirichlet prior of the prevalence.
    class_prior : "learnt", Pairs, Columns, Classifier or a sum of these, default "learnt"
        Whether all items share one prevalence, or the class prior depends on columns of the items.
    """

    name: ClassVar[str] = "ordinal_dawid_skene"
    competence: ClassVar[str | None] = "accuracy"
    annotator_parameters: ClassVar[tuple[str, ...]] = ("severity", "sd")
    of_grades: ClassVar[bool] = True

    noise: Noise = "logistic"
    shared: bool = False
    sd_prior: tuple[Positive, Positive] = (0.5, 0.5)
    sd_spread_prior: Positive = 0.4
    severity_prior: Positive = 0.3
    width_prior: Positive = 10.0
    shared_prior: Positive = 0.3

    @override
    def findings(self, data: AnnotationData) -> Iterator[Finding]:
        yield from find_order(data)
        yield from _grades.find_few(data, shared=self.shared)

    @override
    def scale_parameters(self) -> tuple[str, ...]:
        return ("severity_spread", "sd_spread")

    @override
    def coords(self, data: AnnotationData) -> dict[str, list[Any]]:
        between = [f"{low} | {high}" for low, high in zip(data.labels, data.labels[1:], strict=False)]
        return super().coords(data) | {"boundary": between}

    def priors(self, data: AnnotationData, prior: Priors) -> None:
        of_each = np.ones(data.n_labels)
        centring = centre_by(data.by_annotator / 2)  # about the information on each: (annotator,)
        prevalence = self.declare_prevalence(prior)
        width = pm.Dirichlet("width", prior.width_prior * of_each, dims="response")
        pm.Deterministic("threshold", _grades.first_grade(data) + _grades.ends_of(width)[1][:-1], dims="boundary")
        severity_spread = pm.Gamma("severity_spread", 2, 2 / prior.severity_prior)
        together = {"level": _grades.level_of(width, data), "centring": centring, "dims": "annotator"}
        severity = normal_around("severity", 0.0, severity_spread, **together)
        typical_sd = pm.LogNormal("typical_sd", pt.log(prior.sd_prior[0]), prior.sd_prior[1])
        sd_spread = pm.Gamma("sd_spread", 2, 2 / prior.sd_spread_prior)
        sd = normal_around("sd", pt.log(typical_sd), sd_spread, centring=centring, by_log=True, dims="annotator")
        p = {"prevalence": prevalence, "width": width, "severity": severity, "sd": sd}
        if self.shared:
            p["shared_spread"] = pm.HalfNormal("shared_spread", prior.shared_prior)
        nodes = quadrature_nodes(self.count_nodes(Parameters(p)), self.support)
        log_answer = _grades.log_reported(Parameters(p), data.n_labels, nodes.z, self.noise)
        reported = pt.exp(log_answer).dot(pt.exp(nodes.log_weight))  # (annotator, response, true_class)
        right = (reported * np.eye(data.n_labels)).sum(axis=1)  # (annotator, true_class)
        pm.Deterministic("accuracy", (prevalence * right).sum(axis=-1), dims="annotator")

    def generate(self, design: Design, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        who, item = design.annotator, design.item
        true_class = design.draw_classes(p)  # (item,)
        standard = pm.Normal.dist if self.noise == "normal" else pm.Logistic.dist
        noise = standard(0, 1 if self.noise == "normal" else 1 / STEEP, shape=(item.shape[0],))  # (annotation,)
        perceived = design.show(true_class) - p.severity[who] + p.sd[who] * noise
        if self.shared:
            perceived += p.shared_spread * pm.Normal.dist(shape=(design.n_items,), name="shared_error")[item]
        thresholds = _grades.ends_of(p.width)[1][:-1]
        grade = (perceived[:, None] > thresholds).sum(axis=1)  # (annotation,)
        return true_class, pt.as_tensor(design.class_response)[grade]

    @override
    def log_answers(self, answers: Answers, p: Parameters, z: Any, slope: Any) -> pt.TensorVariable:
        return _grades.log_reported(p, answers.n_classes, z, self.noise)

    def information(self, p: Parameters) -> tuple[tuple[pt.TensorVariable, pt.TensorVariable], ...]:
        return ((_grades.find_information(p, self.noise), pt.zeros(())),) if self.shared else ()

    def start(self, data: AnnotationData) -> dict[str, np.ndarray]:
        severity, sd = _grades.measure_severity(votes_of(data), self.sd_prior[0])
        values = {
            "prevalence": in_proportion(votes_of(data).shares + self.prevalence_prior),
            "width": np.full(data.n_labels, 1 / data.n_labels),
            "severity": severity,
            "severity_spread": np.array(self.severity_prior),
            "sd": sd,
            "typical_sd": np.array(self.sd_prior[0]),
            "sd_spread": np.array(self.sd_spread_prior),
        }
        return values | ({"shared_spread": np.array(self.shared_prior / 2)} if self.shared else {})
