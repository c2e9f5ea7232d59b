"""Answers that a model gives: made up with known truth, replicated from draws, and what is measured on them."""
