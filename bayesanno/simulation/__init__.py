"""Simulated answers: with known truth, replicated from draws, and their statistics."""
