"""The zoo: one file per model, each to be read from top to bottom; `from bayesanno.models import ModelB`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "binomial_mixture": ["BinomialMixture"],
        "class_conditional": ["ClassConditional"],
        "diligent_lazy": ["DiligentLazy"],
        "diligent_lazy_annotators": ["DiligentLazyAnnotators"],
        "easy_hard": ["EasyHard"],
        "hierarchical_dawid_skene": ["HierarchicalDawidSkene"],
        "item_difficulty": ["ItemDifficulty"],
        "shared_errors": ["SharedErrors"],
        "label_usage": ["LabelUsage"],
        "gaussian_mixture": ["GaussianMixture"],
        "mace": ["MACE"],
        "model_a": ["ModelA"],
        "model_a_multi": ["ModelAMulti"],
        "model_b": ["ModelB"],
        "pooled_dawid_skene": ["PooledDawidSkene"],
        "one_coin": ["OneCoin"],
        "ordinal_dawid_skene": ["OrdinalDawidSkene"],
    },
)
