"""Coefficients of agreement from tables of every two labels, as papers write them; for a few labels and items."""

import numpy as np

from bayesanno.agreement.pairs import match_labels


def tables_of(data):
    """How often the first of a pair gave the one label (rows) where the second gave the other, by their names."""
    tables = {}
    for _, one, other, label_1, label_2, times in zip(*match_labels(data), strict=True):
        pair = data.annotators[one], data.annotators[other]
        table = tables.setdefault(pair, [[0] * data.n_labels for _ in range(data.n_labels)])
        table[label_1][label_2] += times
    return tables


def weighted_tables(data, weights):
    """The same as arrays, of items that count so often, in the order of the annotators' codes."""
    n = data.n_labels
    matches, tables = match_labels(data), {}
    for item, one, other, label_1, label_2, times in zip(*matches, strict=True):
        tables.setdefault((one, other), np.zeros((n, n)))[label_1, label_2] += times * weights[item]
    return [tables[pair] for pair in sorted(tables)]


def coefficients_of(table):
    """Every coefficient of one table, nan where it is not defined."""
    k, n = len(table), table.sum()
    place = np.arange(k)
    far = np.abs(place[:, None] - place)
    by_both = table / n
    rows, columns = by_both.sum(axis=1), by_both.sum(axis=0)
    used, same = (rows + columns) / 2, np.trace(by_both)

    def beyond(expected, observed=same):
        return (observed - expected) / (1 - expected) if expected < 1 - 1e-12 else np.nan

    def weighted(distance):
        expected = rows @ distance @ columns
        return 1 - (by_both * distance).sum() / expected if expected > 0 else np.nan

    return {
        "agreement": same,
        "scott_pi": beyond((used**2).sum()),
        "cohen_kappa": beyond((rows * columns).sum()),
        "cohen_kappa_linear": weighted(far),
        "cohen_kappa_quadratic": weighted(far**2),
        "g_index": beyond(1 / k),
        "gwet_ac1": beyond((used * (1 - used)).sum() / (k - 1)),
        "krippendorff_alpha": alpha_of(table + table.T, 1 - np.eye(k)),
    }


def alpha_of(coincidences, distance):
    """Krippendorff's alpha of coincidences of every two labels, and their squared distances."""
    n = coincidences.sum(axis=1)
    expected = n @ distance @ n
    return 1 - (n.sum() - 1) * (coincidences * distance).sum() / expected if expected > 0 else np.nan


def coincidences_of(votes, weights):
    """Coincidences of every two labels, of votes (item, label) of items that count so often."""
    found = np.zeros((votes.shape[1],) * 2)
    for of_item, weight in zip(votes, weights, strict=True):
        if of_item.sum() >= 2:
            found += weight * (np.outer(of_item, of_item) - np.diag(of_item)) / (of_item.sum() - 1)
    return found
