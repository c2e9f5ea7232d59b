"""The zoo's classes, and where they are: `__init__` imports each at first use, type checkers read them here."""

from .binomial_mixture import BinomialMixture as BinomialMixture
from .class_conditional import ClassConditional as ClassConditional
from .diligent_lazy import DiligentLazy as DiligentLazy
from .diligent_lazy_annotators import DiligentLazyAnnotators as DiligentLazyAnnotators
from .easy_hard import EasyHard as EasyHard
from .gaussian_mixture import GaussianMixture as GaussianMixture
from .hierarchical_dawid_skene import HierarchicalDawidSkene as HierarchicalDawidSkene
from .item_difficulty import ItemDifficulty as ItemDifficulty
from .label_usage import LabelUsage as LabelUsage
from .mace import MACE as MACE
from .model_a import ModelA as ModelA
from .model_a_multi import ModelAMulti as ModelAMulti
from .model_b import ModelB as ModelB
from .one_coin import OneCoin as OneCoin
from .ordinal_dawid_skene import OrdinalDawidSkene as OrdinalDawidSkene
from .pooled_dawid_skene import PooledDawidSkene as PooledDawidSkene
from .rating import Rating as Rating
from .shared_errors import SharedErrors as SharedErrors
