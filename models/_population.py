"""Whether the typical annotator of a population gives the classes the labels of their names."""

from __future__ import annotations

import numpy as np

from bayesanno.data.annotations import AnnotationData
from bayesanno.ground.lazy import xr

MISNAMED = 2.0  # a class is misnamed if another label is more common in it by this factor


def explain_names(population: xr.DataArray) -> list[str]:
    """Explain which classes the typical annotator usually gives another label.

    Parameters
    ----------
    population : xarray.DataArray, dims chain, draw, true_class, response
    """
    typical = population.mean(("chain", "draw"))
    called = []
    for name in typical["true_class"].values.tolist():
        row = typical.sel(true_class=name)
        if float(row.max()) > MISNAMED * float(row.sel(response=name)):
            called.append(f"{name!r} by {str(row.idxmax('response').item())!r} ({float(row.max()):.0%})")
    if not called:
        return []
    return [
        f"the typical annotator calls some classes by other names: {', '.join(called)}; their names may be swapped, "
        "and the labels of items are then wrong: compare with the votes, or with a fit by model_b; chains "
        "that start near the votes (initvals='vote'), a prior that ties classes to names more firmly "
        "(confusion_spread=0.25) or some known labels (controls) may help"
    ]


def explain_unsaid(data: AnnotationData) -> list[str]:
    """Explain which labels nobody gave; such classes are learnt only from disagreements about others."""
    said = np.bincount(data.label, minlength=data.n_labels)[data.class_codes]
    unsaid = [repr(name) for name, count in zip(data.classes, said.tolist(), strict=True) if count == 0]
    if not unsaid:
        return []
    return [
        f"nobody said {' or '.join(unsaid)}: only the prior ties such a class to its name, and items on which "
        "annotators disagree may be assigned to it, so that its prevalence is too high; leave it out of the labels if "
        "no item can be in it"
    ]
