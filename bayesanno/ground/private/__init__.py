"""Undocumented parts of PyTensor, Numba, PyMC and nutpie that this package uses: a file for each of them.

Each name is imported from there and nowhere else, so that what the next release of a library moves is mended in one
place. For each, `tests/ground/test_private.py` has a test of what is relied on, which says by name what has changed.
"""
