"""Numbers that model A must give, as plain data: tables of Rzhetsky et al. (2009), and what they should have been.

Tables, sections and equations are those of the supplement, where annotators are i, j, k and labels start at 1; here
labels start at 0. A number that the paper does not print says so: it was recomputed, by enumeration, apart from the
code that the tests check. Posteriors list the labels that were said in order of first appearance, then "none of them".
"""

from __future__ import annotations

from typing import NamedTuple

# ------------------------------------------------------------------------ section 8: three labels, three annotators

OMEGA = (0.1, 0.3, 0.6)  # the truth that Table 9 was simulated from
THETA = (0.6, 0.8, 0.5)

TABLE9 = {  # labels of i, j, k as printed -> (probability, to five digits; simulated count)
    "111": (0.0011298, 4),
    "112": (0.0038489, 32),
    "113": (0.0076978, 83),
    "121": (0.0028356, 26),
    "122": (0.0089567, 99),
    "123": (0.00468, 48),
    "131": (0.0056711, 51),
    "132": (0.00468, 38),
    "133": (0.035827, 375),
    "211": (0.0029856, 37),
    "212": (0.0085067, 80),
    "213": (0.00468, 57),
    "221": (0.011547, 143),
    "222": (0.030506, 309),
    "223": (0.06928, 690),
    "231": (0.00468, 62),
    "232": (0.05104, 521),
    "233": (0.10748, 1090),
    "311": (0.0059711, 52),
    "312": (0.00468, 53),
    "313": (0.034027, 353),
    "321": (0.00468, 42),
    "322": (0.05374, 530),
    "323": (0.10208, 1035),
    "331": (0.046187, 453),
    "332": (0.13856, 1325),
    "333": (0.24404, 2412),
}

POOLED = (2377 / 30000, 8898 / 30000, 18725 / 30000)  # how often Table 9 has each label; the paper prints four digits

# The printed probabilities need `unnormalised`; with Table 4 as printed, cells and the fit of the counts are others.
TABLE9_NORMALISED = {"111": 0.001063218, "123": 0.014859599, "333": 0.229655069}  # recomputed from Tables 4, 5 and 7

TABLE10 = (  # log posterior, printed as "log L_max"; theta of i, j, k
    (-25527.871689, (0.668050, 0.728766, 0.564728)),
    (-25879.609684, (0.157385, 0.132595, 0.239020)),
    (-25536.806999, (0.545150, 1.000000, 0.490790)),
    (-25536.828815, (0.545262, 0.999999, 0.489812)),
    (-25571.781813, (1.000000, 0.545119, 0.479177)),
    (-25536.842161, (0.546401, 0.999999, 0.490438)),
    (-25537.202882, (0.545510, 1.000000, 0.495285)),
    (-25571.793123, (1.000000, 0.545764, 0.478727)),
    (-25571.860053, (0.998901, 0.545367, 0.479291)),
    (-25805.836830, (0.479160, 0.490854, 0.999999)),
    (-25537.521125, (0.547845, 0.999995, 0.485529)),
    (-25536.997176, (0.547409, 0.999999, 0.488768)),
    (-25805.885787, (0.477935, 0.491827, 0.999995)),
)
TABLE10_INSIDE = 2  # the first two rows are inside the unit cube; on its edge six digits of theta leave 2e-4
TABLE10_MODES = (  # recomputed: theta and log posterior of every mode under Beta(2, 1), normalised, POOLED
    ((0.668027, 0.728804, 0.564741), -25527.871683),
    ((0.545145, 1.0, 0.490851), -25536.806886),
    ((1.0, 0.545145, 0.479152), -25571.781786),
    ((0.479152, 0.490851, 1.0), -25805.836770),
    ((0.157392, 0.132627, 0.239046), -25879.609675),
)
TABLE10_LIKELIHOOD_MODES = (  # recomputed: theta and log-likelihood of every mode of the likelihood
    ((0.667942, 0.728776, 0.564638), -25528.659785),
    ((0.5451, 1.0, 0.4908), -25537.567916),
    ((1.0, 0.5451, 0.4791), -25572.518691),
    ((0.4791, 0.4908, 1.0), -25806.468754),
    ((0.156886, 0.131954, 0.238499), -25876.383491),
)
UNNORMALISED_MODES = {  # recomputed: theta and log-likelihood of modes under the alphas that the data were made with
    POOLED: (
        ((0.632124, 0.695681, 0.497295), -25340.997264),
        ((0.286987, 0.330391, 0.490652), -25349.160796),
        ((0.492999, 0.474855, 0.259469), -25414.939413),
    ),
    OMEGA: (
        ((0.602197, 0.761441, 0.502562), -25269.246249),
        ((0.296805, 0.320181, 0.485174), -25314.719908),
    ),
}
JOINT_LIKELIHOOD_MODES = {  # recomputed: theta, omega (to be scaled to sum to one) and log-likelihood, omega fitted
    "unnormalised": ((0.60001, 0.76711, 0.50251), (0.10094, 0.30182, 0.59724), -25268.915737),
    "normalised": ((0.67223, 0.72727, 0.56921), (0.08888, 0.30619, 0.60492), -25509.749475),
}
AT_THE_TRUTH = (  # recomputed: alphas, omega, log-likelihood at THETA
    ("normalised", POOLED, -25556.837959),
    ("normalised", OMEGA, -25573.227998),
    ("unnormalised", OMEGA, -25270.641173),
)

# Table 8 at the first row of Table 10, from Table 6 (normalised, POOLED). The order here is that of first appearance.
TABLE8 = {
    "111": (0.927594, 0.072406),
    "112": (0.836496, 0.140176, 0.023327),
    "121": (0.562923, 0.404567, 0.032510),
    "211": (0.278752, 0.691342, 0.029906),
    "123": (0.335598, 0.448050, 0.216352, 0.0),
}

# --------------------------------------------------------------------------------- section 11: two labels (Table 16)

TABLE16_PRINTED = (  # printed with k's prior evaluated at theta_j and without the betas
    ((0.309318, 0.144775, 0.663192), -13199.377582),
    ((0.689629, 0.858267, 0.337781), -13194.999964),
)
TABLE16_COUNTS = (564, 338, 1752, 867, 681, 342, 3730, 1726)  # of 111, 112, 121, 122, 211, 212, 221, 222
TABLE16_POOLED = (0.40576666666666666, 0.59423333333333333)
TABLE16_AGREEMENT = {"ij": 0.2716, "ik": -0.1232, "jk": -0.2324}  # 2 P(two agree) - 1 = (2 theta - 1)(2 theta' - 1)


class TwoLabels(NamedTuple):
    """Recomputed for a table of two labels: theta, log P(patterns), log P(answers), without and with Beta(2, 1)."""

    theta: tuple[float, float, float]
    patterns: float
    answers: float
    prior: bool


TABLE16 = (
    TwoLabels((0.689724, 0.857888, 0.337659), -13196.401751, -19544.914256, prior=False),
    TwoLabels((0.310276, 0.142112, 0.662341), -13196.401751, -19544.914256, prior=False),
    TwoLabels((0.689650, 0.858219, 0.337891), -13195.932291, -19544.444796, prior=True),
    TwoLabels((0.309870, 0.143432, 0.662829), -13197.851347, -19546.363852, prior=True),
)
TABLE14 = TwoLabels((0.723683, 0.523024, 0.782319), -13535.994740, -20404.669945, prior=False)
TABLE14_COUNTS = (1882, 443, 1863, 506, 1376, 1152, 1412, 1366)
TABLE14_POOLED = (0.536, 0.464)

# ------------------------------------------------------------------------------------ any number of annotators

W4 = (0.1, 0.2, 0.3, 0.4)
TH4 = (0.6, 0.8, 0.5, 0.7)
TH5 = (*TH4, 0.9)
TH8 = (0.6, 0.8, 0.5, 0.7, 0.9, 0.65, 0.75, 0.55)


class Row(NamedTuple):
    """One item: what was said, P(answers), P(state | answers); recomputed."""

    said: tuple[int, ...]
    theta: tuple[float, ...]
    omega: tuple[float, ...]
    probability: float
    posterior: tuple[float, ...]


ROWS = (
    Row((1,), (0.7,), (0.2, 0.3, 0.5), 0.3, (0.7, 0.3)),
    Row((0, 0), (0.6, 0.8), OMEGA, 0.011577541161392, (0.901295228687, 0.098704771313)),
    Row((0, 2), (0.6, 0.8), OMEGA, 0.051937011841774, (0.256721225587, 0.684589934898, 0.058688839515)),
    Row(
        *((0, 0, 1, 3), TH4, W4, 0.000520663902315078),
        (0.819880103102, 0.050464125855, 0.117749626996, 0.011906144047),
    ),
    Row(
        *((0, 1, 2, 3), TH4, W4, 0.000691328733323136),
        (0.169811320755, 0.452830188679, 0.113207547170, 0.264150943396, 0.0),
    ),
    Row((3, 3, 3, 3), TH4, W4, 0.122239929573090, (0.993877580329, 0.006122419671)),
    Row((3, 3, 1, 1), TH4, W4, 0.00480821742356149, (0.704164962743, 0.273841929956, 0.021993107302)),
    Row(
        *((0, 0, 1, 1, 2), TH5, W4, 1.77217411743169e-5),
        (0.523384050903, 0.203538242018, 0.266890739738, 0.006186967341),
    ),
    Row(
        *((2, 0, 1, 3, 2), TH5, W4, 0.000149744412425464),
        (0.846689895470, 0.083623693380, 0.020905923345, 0.048780487805, 0.0),
    ),
    Row((0, 0, 1, 1), TH4, (0.4, 0.6), 0.05, (0.72, 0.28, 0.0)),
    Row((1,) * 8, TH8, W4, 0.000143439775060237, (0.999992919485, 7.080515e-6)),
    Row(
        *((0, 1, 2, 3, 3, 3, 2, 3), TH8, W4, 1.77521583179308e-5),
        (0.001442143915, 0.003845717106, 0.010989021132, 0.983723117847, 0.0),
    ),
)

# --------------------------------------------------------------------------- frequencies of each annotator's own

OMEGAS = (W4, (0.2, 0.2, 0.3, 0.3), (0.25, 0.25, 0.25, 0.25), (0.4, 0.1, 0.2, 0.3))
OWN = {  # answers of the first annotators of TH4 and OMEGAS -> probability, truths by the mean of rows; recomputed
    (0, 0, 0): 0.0181320482582608,
    (0, 0, 1): 0.0065163767267309,
    (3, 1, 0): 0.0099106517289818,
    (0, 0, 1, 3): 0.000861015395741630,
    (2, 2, 2, 2): 0.0459448357941661,
    (0, 1, 2, 3): 0.000379406282002048,
}

# ---------------------------------------------------------------------------- section 7: several dimensions

FIGURE3_THETA = ((0.95, 0.6), (0.4, 0.9), (0.6, 0.7))  # (annotator, dimension), its caption
FIGURE3_RHO = 0.1
FIGURE3_STATES = {  # correctness of i, j, k in x and in y -> 100 x probability, recomputed
    ("CCC", "CCC"): 9.592355,
    ("CCI", "CCC"): 5.627115,
    ("III", "III"): 0.028309,
    ("ICC", "CII"): 0.003282,
}

COX_THETA = ((0.95, 0.6, 0.8), (0.4, 0.9, 0.75), (0.6, 0.7, 0.55))  # (annotator, dimension)
COX_OMEGAS = (OMEGA, W4, (0.4, 0.6))
COX_RHOS = {(0, 1): 0.03, (0, 2): -0.02, (1, 2): 0.04}
COX_GAUGE = 0.647553168249767
COX_RANGES = {  # where one correlation can be if the others are zero
    (0, 1): (-0.1035319129, 0.1179178561),
    (0, 2): (-0.0870623756, 0.1848909609),
    (1, 2): (-0.1071307875, 0.2106707903),
}
COX = {  # answers in x, y, z -> probability, and if the dimensions are independent
    ((0, 0, 0), (3, 3, 3), (1, 1, 1)): (6.60748980997834e-5, 6.34026687550706e-5),
    ((2, 2, 1), (3, 1, 0), (1, 0, 1)): (2.38135477138095e-5, 2.21651106335426e-5),
    ((0, 1, 2), (0, 1, 2), (0, 0, 1)): (3.47159445951149e-6, 3.25101355147419e-6),
    ((2, 2, 2), (2, 2, 3), (1, 1, 0)): (0.00121295481096171, 0.00116977824589389),
}
COX_POSTERIOR = {  # dimension -> state -> probability given the second row of COX
    0: {"CCI": 0.913489623002, "IIC": 0.072949304273, "III": 0.013561072724},
    1: {"CII": 0.111911210034, "ICI": 0.695658075410, "IIC": 0.172069191676, "III": 0.020361522880},
    2: {"CIC": 0.614156257994, "ICI": 0.385843742006},
}
