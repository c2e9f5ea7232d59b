"""Names of this room that few need; those that most need are in `bayesanno`."""

from .class_prior import ClassPrior as ClassPrior
from .pairs import take_as_true as take_as_true
