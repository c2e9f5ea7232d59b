"""Whether the typical annotator of a population gives the classes the labels of their names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayesanno._core.lazy import xr
from bayesanno.data.annotations import AnnotationData
from bayesanno.modeling.findings import Finding, find, threshold_of


def find_misnamed(population: xr.DataArray) -> Iterator[Finding]:
    """Yield which classes the typical annotator usually gives another label.

    Parameters
    ----------
    population : xarray.DataArray, dims chain, draw, true_class, response
    """
    typical, called, ratios = population.mean(("chain", "draw")), {}, []
    for name in typical["true_class"].values.tolist():
        row = typical.sel(true_class=name)
        ratio = float(row.max()) / max(float(row.sel(response=name)), np.finfo(float).tiny)
        if ratio > threshold_of("class-misnamed"):
            called[name] = f"{name!r} as {str(row.idxmax('response').item())!r} ({float(row.max()):.0%})"
            ratios.append(ratio)
    if called:
        yield find("class-misnamed", called, max(ratios), classes=", ".join(called.values()))


def find_unsaid(data: AnnotationData) -> Iterator[Finding]:
    """Yield which labels nobody gave; such classes are learnt only from disagreements about others."""
    said = np.bincount(data.label, minlength=data.n_labels)[data.class_codes]
    unsaid = [name for name, count in zip(data.classes, said.tolist(), strict=True) if count == 0]
    if unsaid:
        yield find("label-unused", unsaid)
