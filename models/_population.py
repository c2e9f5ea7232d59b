"""What the typical annotator of a population calls the classes: whether the names of classes hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray

MISNAMED = 2.0  # a class has not the name it should if another label is so many times as common in it


def explain_names(population: xarray.DataArray) -> list[str]:
    """Say which classes are called otherwise than by their names, by the typical annotator.

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
        f"the typical annotator calls some classes by other names: {', '.join(called)}; they may not be what their "
        "names say, and the labels of items then are wrong: compare with the votes, or with a fit by model_b; chains "
        "that start near the votes (initvals='vote'), a prior that ties classes to names more firmly "
        "(confusion_spread=0.25) or some known labels (controls) may help"
    ]
