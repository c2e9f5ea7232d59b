"""Ratings on a scale: a true value of each item, which annotators report with a bias, a slope and noise of their own.

Use to learn who is lenient or strict, and who is careful or careless, from sliders (0-100), mean opinion scores,
magnitude estimates and other numbers with at least a dozen values, also where annotators have rated different items.
For fewer, ordered grades, use `ordinal_dawid_skene`.  Avoid with one rating of each item, where the noise cannot be
told from the spread of true values.

Generative process.

    truth_i   ~ Normal(mean, spread)                                               the true value of item i
    x_ij      = mean + slope_j (truth_i - mean) + bias_j + sd_j a_i e_ij                                     (1)
    e_ij      ~ Normal(0, 1)            or, with noise="student", a t with 4 degrees of freedom, of variance 1
    log a_i   ~ Normal(0, ambiguity_spread)                                        ambiguity=True, else a_i = 1
    rating    = x_ij, or with ends="censored" the nearer end of the scale where x_ij is beyond it

Given the parameters, truth and ratings are jointly normal, so the truth is integrated out exactly.  In standard
deviations of true values, u_i = (truth_i - mean) / spread, a rating has the residual r = (x_ij - mean - bias_j) / sd_j
and the loading l = slope_j spread / sd_j.  With P, B and Q the sums of l^2, l r and r^2 over the ratings of an item:

    log p(x_i) = -sum_j log(sd_j sqrt(2 pi)) - Q / 2 + B^2 / (2 (1 + P)) - log(1 + P) / 2                      (2)
    u_i | x_i  ~ Normal(B / (1 + P), 1 / sqrt(1 + P))                                                       (3)

With other noise, censored ends or ambiguity, (2) and (3) are sums over nodes (`bayesanno.modeling.ops.true_values`).

Symbols, and priors.  W is the width of the scale.
    mean              ()           ~ Normal(middle of the scale, 0.25 W)
    spread            ()           ~ HalfNormal(0.3 W): standard deviation of true values
    bias              (annotator)  ~ Normal(0, bias_spread), how much higher than others an annotator rates
    bias_spread       ()           ~ Gamma(2, 2 / (0.1 W)), with mean 0.1 W
    sd                (annotator)  log sd ~ Normal(log typical_sd, sd_spread): the standard deviation of the noise
    typical_sd        ()           ~ LogNormal(log 0.15 W, 0.7)
    sd_spread         ()           ~ Gamma(2, 2 / 0.4)
    slope             (annotator)  ~ Normal(1, slope_spread) with slope=True, else 1: how much an annotator stretches
                                   the scale; 0 ignores the item, negative turns it round
    slope_spread      ()           ~ Gamma(2, 2 / 0.25)
    slope_deviation   (annotator)  ~ Normal(0, 1): slopes are 1 + slope_spread slope_deviation
    ambiguity_spread  ()           ~ Gamma(2, 2 / 0.25)
    reliability       (annotator)  deterministic: the correlation of an annotator's ratings with true values,
                                   slope_j spread / sqrt(slope_j^2 spread^2 + sd_j^2)
    derived for an item: its true value, and its expected reported rating, by the average annotator of the panel

Identifiability.  With origin="panel", biases sum to 0 and slopes have mean 1: true values are those of this panel of
annotators, and a bias that all share cannot be seen.  With origin="population" they are those of all annotators that
might have been asked, and the common bias of this panel is a part of what is uncertain.

References.
    Z. Li and C. G. Bampis (2017), Recover subjective quality scores from noisy measurements, Data Compression
    Conference, arXiv:1611.01715; ITU-T P.913 (2021), section 12.6.
    J. Tobin (1958), Estimation of relationships for limited dependent variables, Econometrica 26:24-36,
    doi:10.2307/1907382.
    P. E. Shrout and J. L. Fleiss (1979), Intraclass correlations: uses in assessing rater reliability, Psychological
    Bulletin 86:420-428, doi:10.1037/0033-2909.86.2.420.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, override

import numpy as np

from bayesanno._core.fields import Positive
from bayesanno._core.lazy import pm, pt, xr
from bayesanno.data.ratings import RatingData
from bayesanno.modeling.arguments import (
    Continuous,
    Derived,
    FixedParameter,
    Latent,
    LatentPosterior,
    Number,
    Parameters,
    Priors,
    RatingDesign,
    Ratings,
)
from bayesanno.modeling.base import AnnotationModel
from bayesanno.modeling.ops.variables import centre_by, normal_around

DF = 4  # degrees of freedom of noise="student"
LOG_2PI = math.log(2 * math.pi)
REACH, N_POINTS = 8.0, 321  # of the table of expected ratings by u


@dataclass(frozen=True, kw_only=True)
class Rating(AnnotationModel):
    """A true value that annotators rate with bias, slope and noise.

    Parameters
    ----------
    slope : bool, default False
        Whether annotators stretch the scale, each in their own way.
    noise : {"normal", "student"}, default "normal"
        The distribution of noise; "student" has outliers.
    ends : {"open", "censored"}, default "open"
        Whether a rating at an end of the scale means what it says, or that value or any beyond it.
    ambiguity : bool, default False
        Whether items have noise of their own, on which annotators agree less or more.
    origin : {"panel", "population"}, default "panel"
        Whether true values are those of this panel of annotators, or of the population they come from.
    mean_prior : float, default 0.25
        Standard deviation of the prior of the mean, as a share of the width of the scale.
    spread_prior : float, default 0.3
        Scale of the prior of the spread of true values, as a share of the width.
    bias_prior : float, default 0.1
        Prior mean of the spread of biases, as a share of the width.
    typical_sd_prior : float, default 0.15
        Prior median of the typical noise, as a share of the width.
    sd_spread_prior : float, default 0.4
        Prior mean of the standard deviation of log sd.
    slope_prior : float, default 0.25
        Prior mean of the standard deviation of slopes.
    ambiguity_prior : float, default 0.25
        Prior mean of the standard deviation of log ambiguities.

    Examples
    --------
    >>> from bayesanno.models import Rating
    >>> Rating(ends="censored").noise
    'normal'
    """

    name: ClassVar[str] = "rating"
    competence: ClassVar[str | None] = "reliability"
    data_class: ClassVar[type[Any]] = RatingData
    collapse_items: ClassVar[bool] = False
    state_dim: ClassVar[str] = ""
    annotator_parameters: ClassVar[tuple[str, ...]] = ("bias", "sd", "slope")

    slope: bool = False
    noise: Literal["normal", "student"] = "normal"
    ends: Literal["open", "censored"] = "open"
    ambiguity: bool = False
    origin: Literal["panel", "population"] = "panel"
    mean_prior: Positive = 0.25
    spread_prior: Positive = 0.3
    bias_prior: Positive = 0.1
    typical_sd_prior: Positive = 0.15
    sd_spread_prior: Positive = 0.4
    slope_prior: Positive = 0.25
    ambiguity_prior: Positive = 0.25

    @override
    def states(self, data: RatingData) -> tuple[str, ...]:
        return ()

    @override
    def fixed_parameters(self, data: RatingData) -> dict[str, FixedParameter]:
        return {"low": FixedParameter(np.array(data.scale[0]), ()), "high": FixedParameter(np.array(data.scale[1]), ())}

    @property
    @override
    def likelihood_of(self) -> str:
        return "densities" if self.ends == "open" else "densities with probabilities at the ends"

    @override
    def scale_parameters(self) -> tuple[str, ...]:
        return ("bias_spread", "sd_spread", *(("slope_spread",) if self.slope else ()))

    def priors(self, data: RatingData, prior: Priors) -> None:
        graph = pm.modelcontext(None)
        low, high = graph["low"], graph["high"]
        width, centring = high - low, centre_by(2.0 * data.by_annotator)
        mean = pm.Normal("mean", (low + high) / 2, prior.mean_prior * width)
        spread = pm.HalfNormal("spread", prior.spread_prior * width)
        bias_spread = pm.Gamma("bias_spread", 2, 2 / (prior.bias_prior * width))
        typical_sd = pm.LogNormal("typical_sd", pt.log(prior.typical_sd_prior * width), 0.7)
        sd_spread = pm.Gamma("sd_spread", 2, 2 / prior.sd_spread_prior)
        around: dict[str, Any] = {"centring": centring, "dims": "annotator"}
        sd = normal_around("sd", pt.log(typical_sd), sd_spread, by_log=True, **around)
        if self.origin == "panel":
            pm.ZeroSumNormal("bias", sigma=bias_spread, dims="annotator")
        else:
            normal_around("bias", 0.0, bias_spread, level=mean, **around)
        slope: Any = 1.0
        if self.slope:
            slope_spread = pm.Gamma("slope_spread", 2, 2 / prior.slope_prior)
            standard = pm.ZeroSumNormal if self.origin == "panel" else pm.Normal
            deviation = standard("slope_deviation", dims="annotator")  # few ratings say little of a slope
            slope = pm.Deterministic("slope", 1 + slope_spread * deviation, dims="annotator")
        if self.ambiguity:
            pm.Gamma("ambiguity_spread", 2, 2 / prior.ambiguity_prior)
        signal = slope * spread
        pm.Deterministic("reliability", signal / pt.sqrt(signal**2 + sd**2), dims="annotator")

    def generate(self, design: RatingDesign, p: Parameters) -> tuple[pt.TensorVariable, pt.TensorVariable]:
        drawn = pm.Normal.dist(p.mean, p.spread, shape=(design.n_items,), name="value")
        truth = pt.switch(pt.isinf(design.known), drawn, design.known)
        who, item = design.annotator, design.item
        location = p.mean + p.bias[who] + self._slope(p)[who] * (truth[item] - p.mean)
        scale = self._scale(p)[who]
        if self.ambiguity:
            scale = scale * pt.exp(pm.Normal.dist(0, p.ambiguity_spread, shape=(design.n_items,)))[item]
        student = self.noise == "student"
        x = pm.StudentT.dist(nu=DF, mu=location, sigma=scale) if student else pm.Normal.dist(location, scale)  # (1)
        return truth, pt.clip(x, p.low, p.high) if self.ends == "censored" else x

    def _slope(self, p: Parameters) -> pt.TensorVariable:
        return p.slope if self.slope else pt.ones_like(p.sd)

    def _scale(self, p: Parameters) -> pt.TensorVariable:
        """Return the scale of each annotator's noise, (annotator,): the sd, or that of a t of this sd."""
        return p.sd * math.sqrt((DF - 2) / DF) if self.noise == "student" else p.sd

    def _standardise(self, ratings: Ratings, p: Parameters) -> tuple[Any, Any, Any, Any, Any]:
        """Return residuals, loadings and ends (annotation,), and known u, nan if unknown, and 0 instead, (item,)."""
        who, scale, x = ratings.annotator, self._scale(p), ratings.value
        residual = (x - p.mean - p.bias[who]) / scale[who]
        loading = (self._slope(p) * p.spread / scale)[who]
        side = pt.zeros_like(who)
        if self.ends == "censored":
            side = pt.switch(x <= p.low, -1, pt.switch(x >= p.high, 1, 0))
        unknown = pt.isinf(ratings.known)
        u = (pt.switch(unknown, p.mean, ratings.known) - p.mean) / p.spread
        return residual, loading, side.astype("int64"), pt.switch(unknown, np.nan, u), u

    @property
    def _is_exact(self) -> bool:
        return self.noise == "normal" and self.ends == "open" and not self.ambiguity

    def _integrate(self, ratings: Ratings, p: Parameters, table: Any, level: Any) -> Any:
        from bayesanno.modeling.ops.true_values import integrate_true_values

        residual, loading, side, known, _ = self._standardise(ratings, p)
        ambiguity = p.ambiguity_spread if self.ambiguity else pt.zeros(())
        student = pt.as_tensor(np.int64(self.noise == "student"))
        return integrate_true_values(residual, loading, side, ratings.item, known, ambiguity, student, table, level)

    def _log_constants(self, ratings: Ratings, p: Parameters, side: Any) -> pt.TensorVariable:
        """Return the logs of the scales of densities, and of their constants: (item,)."""
        log_constant = math.log(3 / 8) if self.noise == "student" else -LOG_2PI / 2
        of_rating = log_constant - pt.log(self._scale(p))[ratings.annotator]
        of_truth = pt.switch(pt.isinf(ratings.known), 0.0, pt.log(p.spread))
        return ratings.sum_by_item(pt.switch(pt.eq(side, 0), of_rating, 0.0)) - of_truth

    @override
    def item_logp(self, ratings: Ratings, p: Parameters) -> pt.TensorVariable:
        residual, loading, side, _, u = self._standardise(ratings, p)
        constants = self._log_constants(ratings, p, side)
        if not self._is_exact:
            return constants + self._integrate(ratings, p, pt.zeros(0), pt.zeros((ratings.n_items, 0)))[0]
        sum_p, sum_b, sum_q = map(ratings.sum_by_item, (loading**2, loading * residual, residual**2))  # (item,)
        integrated = sum_b**2 / (2 * (1 + sum_p)) - pt.log1p(sum_p) / 2  # (2)
        at_known = sum_b * u - (1 + sum_p) * u**2 / 2 - LOG_2PI / 2
        return constants - sum_q / 2 + pt.switch(pt.isinf(ratings.known), integrated, at_known)

    @override
    def latents(self, data: RatingData) -> tuple[Latent, ...]:
        return (Continuous("value"),)

    @override
    def latent_posterior(self, ratings: Ratings, p: Parameters) -> LatentPosterior:
        residual, loading, side, _, u = self._standardise(ratings, p)
        if self._is_exact:
            total = self.item_logp(ratings, p)
            sum_p, sum_b = ratings.sum_by_item(loading**2), ratings.sum_by_item(loading * residual)
            unknown = pt.isinf(ratings.known)
            mean = pt.switch(unknown, sum_b / (1 + sum_p), u)  # (3)
            sd = pt.switch(unknown, 1 / pt.sqrt(1 + sum_p), 0.0)
            quantile = mean[:, None] - sd[:, None] * math.sqrt(2) * pt.erfcinv(2 * ratings.level)
        else:
            table = self._expect_by_u(p) if self.ends == "censored" else pt.zeros(0)
            total, mean, square, expected, *_, quantile = self._integrate(ratings, p, table, ratings.level)
            total = total + self._log_constants(ratings, p, side)
            sd = pt.sqrt(pt.maximum(square - mean**2, 0.0))
        if self.ends == "open":
            bias, slope = (each.sum() / pt.ones_like(p.sd).sum() for each in (p.bias, self._slope(p)))
            expected = p.mean + bias + slope * p.spread * mean
        value = Number(p.mean + p.spread * mean, p.spread * sd, p.mean + p.spread * quantile)
        return LatentPosterior(total, derived={"": {"expected": Derived(("item",), expected)}}, numbers={"": value})

    def _expect_by_u(self, p: Parameters) -> pt.TensorVariable:
        """Return the mean over annotators of the expected rating within the scale, at points of u from -8 to 8."""
        u, scale = np.linspace(-REACH, REACH, N_POINTS), self._scale(p)[:, None]
        location = p.mean + p.bias[:, None] + self._slope(p)[:, None] * p.spread * u  # (annotator, point)

        def integral(z: Any) -> Any:
            """Return the integral of the cumulative distribution function of the noise up to z."""
            if self.noise == "student":
                root = pt.sqrt(DF + z**2)
                return z / 2 + root / 2 - 1 / root
            return z * pt.erfc(-z / math.sqrt(2)) / 2 + pt.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)

        below, above = (p.low - location) / scale, (p.high - location) / scale
        return (p.high - scale * (integral(above) - integral(below))).sum(axis=0) / pt.ones_like(p.sd).sum()

    @override
    def above_chance(self, posterior: xr.Dataset, data: Any) -> xr.DataArray:
        return posterior["reliability"]

    @override
    def start(self, data: RatingData) -> dict[str, np.ndarray]:
        who, least = data.annotator, 0.02 * data.width
        n_of_item, n = np.maximum(data.by_item, 1), np.maximum(data.by_annotator, 1)
        of_item = np.bincount(data.item, data.value, data.n_items) / n_of_item
        of_item[data.by_item == 0] = of_item[data.by_item > 0].mean()
        away = data.value - of_item[data.item]
        bias = np.bincount(who, away, data.n_annotators) / n
        sd = np.sqrt(np.bincount(who, (away - bias[who]) ** 2, data.n_annotators) / n + least**2)
        values = {
            "mean": np.array(of_item.mean()),
            "spread": np.array(of_item.std() + least),
            "bias": bias - bias.mean(),
            "bias_spread": np.array(bias.std() + least),
            "sd": sd,
            "typical_sd": np.array(np.median(sd)),
            "sd_spread": np.array(self.sd_spread_prior),
        }
        if self.slope:
            values["slope_spread"] = np.array(self.slope_prior)
            values["slope_deviation"] = 0.0 * bias
        return values | ({"ambiguity_spread": np.array(self.ambiguity_prior)} if self.ambiguity else {})
