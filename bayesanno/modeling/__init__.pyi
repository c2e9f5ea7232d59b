"""Names of this room that few need; those that most need are in `bayesanno`."""

from .arguments import FixedParameter as FixedParameter
from .class_prior import ClassPrior as ClassPrior
from .independent import IndependentAnswers as IndependentAnswers
from .pairs import take_as_true as take_as_true
