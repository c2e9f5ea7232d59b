"""Names of this room that few need; those that most need are in `bayesanno`."""

from .progress import stopping_table as stopping_table
