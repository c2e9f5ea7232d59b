"""What `bayesanno noise` does: the noise level from counts or from a table, as text or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bayesanno.agreement.noise import measure_noise, noise_level
from bayesanno.ground.errors import DataError
from bayesanno.ground.validate import check_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayesanno.agreement.noise import NoiseLevel


def find_noise(
    source: str | None,
    items: int | None,
    disagreements: int | None,
    chance: float | None,
    *,
    confidence: float,
    reading: Mapping[str, Any],
) -> tuple[NoiseLevel, int]:
    """Return the noise level, and how many items were left out for want of a second annotation.

    Raises
    ------
    DataError
        If both a table and counts are given, or neither, or the counts are not complete; else as from `noise_level`,
        `measure_noise` and `read_annotations`.
    """
    counts = {"--items": items, "--disagreements": disagreements}
    given = [option for option, value in counts.items() if value is not None]
    if source is not None and given:
        raise DataError(f"DATA and {' and '.join(given)} are both given: the counts come from one of the two")
    if source is None and not given:
        raise DataError("nothing to go by: give DATA, or --items, --disagreements and --chance")
    check_share("confidence", confidence)
    if source is not None:
        from bayesanno.io.annotations import read_annotations

        data = read_annotations(source, **reading)
        level = measure_noise(data, confidence=confidence, chance=chance)
        return level, data.n_items - level.n
    if items is None or disagreements is None or chance is None:
        missing = [option for option, value in {**counts, "--chance": chance}.items() if value is None]
        raise DataError(f"without DATA give {' and '.join(missing)} as well")
    return noise_level(items, disagreements, chance, confidence=confidence), 0


def format_noise(level: NoiseLevel, *, as_json: bool) -> str:
    """Return a noise level as lines of text, or as a JSON object of its fields."""
    if as_json:
        return json.dumps(asdict(level), indent=2)
    rows = {
        "items": str(level.n),
        "disagreed on": str(level.d),
        "chance that a hard item is agreed on": f"{level.p:.4g}",
        "confidence": f"{level.confidence:g}",
        "hard items, at most": str(level.t0),
        "noise among the agreed items, at most": (
            "no item is agreed on"
            if level.gamma is None
            else f"{level.n_noise} of {level.n_agreed} ({100 * level.gamma:.2f}%)"
        ),
    }
    if level.kappa is not None:
        rows["kappa"] = f"{level.kappa:.4f}"
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())
