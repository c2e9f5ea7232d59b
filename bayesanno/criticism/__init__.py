"""Whether a model is any good, and how models compare."""
