"""All maxima of a likelihood or a posterior density, to the last digits."""
