"""Names of this room that few need; those that most need are in `bayesanno`."""

from .behaviour import differ_more_probability as differ_more_probability
from .correctness import correctness_table as correctness_table
