"""`bayesanno.shapes`: tables of each shape, a DataFrame, as one long table, a DataFrame."""

from bayesanno.io.comparisons import best_worst, comparisons, rankings
from bayesanno.io.records import records
from bayesanno.io.shapes import long, one_hot, transposed, votes, wide

__all__ = ["best_worst", "comparisons", "long", "one_hot", "rankings", "records", "transposed", "votes", "wide"]
