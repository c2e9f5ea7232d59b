"""PyMC's private names: what a transform of a variable is made of, and the random numbers of a graph."""

from __future__ import annotations

from pymc.logprob.transforms import SimplexTransform, Transform
from pymc.pytensorf import find_rng_nodes, reseed_rngs

__all__ = ["SimplexTransform", "Transform", "find_rng_nodes", "reseed_rngs"]
