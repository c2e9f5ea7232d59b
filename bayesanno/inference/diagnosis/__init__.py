"""Diagnostics of a fit: the numbers, and the words."""
