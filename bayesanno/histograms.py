"""`bayesanno.histograms`: mixtures fitted to a histogram of counts as points, and tests of them."""

from bayesanno.agreement.histograms import (
    chi_square_test,
    count_histogram,
    fit_binomials,
    fit_diligence,
    fit_gaussians,
    select_n_types,
)

__all__ = ["chi_square_test", "count_histogram", "fit_binomials", "fit_diligence", "fit_gaussians", "select_n_types"]
