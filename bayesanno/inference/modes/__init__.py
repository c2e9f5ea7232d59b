"""The modes of a posterior: found before sampling, the chains in each, and their probabilities."""
