"""What a type checker knows of the package in a user's script: `uv run mypy tests/types_of_users.py` checks it."""

from typing import assert_type

import pandas as pd
import xarray as xr

import bayesanno as ba


def label_answers() -> None:
    """Do what users do; it is read by the type checker, and never run."""
    data = ba.read_annotations("@crowd", labels=["billing", "delivery", "other", "quality"])
    assert_type(data, ba.AnnotationData)
    fit = ba.fit(ba.models.ModelB(confusion_accuracy=0.8), data, random_seed=1)
    assert_type(fit, xr.DataTree)
    assert_type(ba.label_table(fit, coverage=0.9), pd.DataFrame)
    assert_type(ba.suggest_annotations(fit, 10), pd.DataFrame)
    assert_type(ba.noise.bound_noise(1000, 100, 0.5), ba.noise.NoiseBound)
    assert_type(ba.get_model("mace"), ba.AnnotationModel)
    ba.fit(model="mace", data=data, chains="4")  # type: ignore[arg-type]  # a mistake that is found
