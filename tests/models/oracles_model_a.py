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

TABLE10 = (  # log posterior, printed as "log L_max"; theta of i, j, k; what six digits of theta leave uncertain
    (-25527.871689, (0.668050, 0.728766, 0.564728), 1e-6),
    (-25879.609684, (0.157385, 0.132595, 0.239020), 1e-6),
    (-25536.828815, (0.545262, 0.999999, 0.489812), 2e-4),  # on the edge it is steep
    (-25571.793123, (1.000000, 0.545764, 0.478727), 2e-4),
    (-25805.836830, (0.479160, 0.490854, 0.999999), 2e-4),
)
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

# Table 8 at the first row of Table 10, from Table 6 (normalised, POOLED). The order here is that of first appearance.
TABLE8 = {
    "111": (0.927594, 0.072406),
    "112": (0.836496, 0.140176, 0.023327),
    "121": (0.562923, 0.404567, 0.032510),
    "211": (0.278752, 0.691342, 0.029906),
    "123": (0.335598, 0.448050, 0.216352, 0.0),
}

# --------------------------------------------------------------------------------- section 11: two labels (Table 16)


class TwoLabels(NamedTuple):
    """Recomputed for a table of two labels."""

    theta: tuple[float, float, float]
    answers: float  # log P(answers)


TABLE16 = (  # without a prior, and with Beta(2, 1)
    TwoLabels((0.689724, 0.857888, 0.337659), -19544.914256),
    TwoLabels((0.310276, 0.142112, 0.662341), -19544.914256),
    TwoLabels((0.689650, 0.858219, 0.337891), -19544.444796),
    TwoLabels((0.309870, 0.143432, 0.662829), -19546.363852),
)
TABLE14_COUNTS = (1882, 443, 1863, 506, 1376, 1152, 1412, 1366)  # of 111, 112, 121, 122, 211, 212, 221, 222

# ------------------------------------------------------------------------------------ any number of annotators

W4 = (0.1, 0.2, 0.3, 0.4)
TH8 = (0.6, 0.8, 0.5, 0.7, 0.9, 0.65, 0.75, 0.55)


class Row(NamedTuple):
    """One item of the first annotators of TH8: what was said, P(answers), P(state | answers); recomputed."""

    said: tuple[int, ...]
    probability: float
    posterior: tuple[float, ...]


ROWS = (
    Row((0, 0, 1, 3), 0.000520663902315078, (0.819880103102, 0.050464125855, 0.117749626996, 0.011906144047)),
    Row((3, 3, 3, 3), 0.122239929573090, (0.993877580329, 0.006122419671)),
    Row((0, 0, 1, 1, 2), 1.77217411743169e-5, (0.523384050903, 0.203538242018, 0.266890739738, 0.006186967341)),
    Row(
        (0, 1, 2, 3, 3, 3, 2, 3),
        1.77521583179308e-5,
        (0.001442143915, 0.003845717106, 0.010989021132, 0.983723117847, 0.0),
    ),
)

# ---------------------------------------------------------------------------- section 7: several dimensions

COX_THETA = ((0.95, 0.6, 0.8), (0.4, 0.9, 0.75), (0.6, 0.7, 0.55))  # (annotator, dimension)
COX_OMEGAS = (OMEGA, W4, (0.4, 0.6))
COX_RHOS = {(0, 1): 0.03, (0, 2): -0.02, (1, 2): 0.04}
COX_RANGE = (-0.1035319129, 0.1179178561)  # where the first correlation can be if the others are zero
COX = {  # answers in x, y, z -> probability, and if the dimensions are independent
    ((0, 0, 0), (3, 3, 3), (1, 1, 1)): (6.60748980997834e-5, 6.34026687550706e-5),
    ((2, 2, 1), (3, 1, 0), (1, 0, 1)): (2.38135477138095e-5, 2.21651106335426e-5),
    ((0, 1, 2), (0, 1, 2), (0, 0, 1)): (3.47159445951149e-6, 3.25101355147419e-6),
    ((2, 2, 2), (2, 2, 3), (1, 1, 0)): (0.00121295481096171, 0.00116977824589389),
}
