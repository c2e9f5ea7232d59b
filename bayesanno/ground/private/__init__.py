"""What we use of nutpie, Numba, PyMC and PyTensor that they do not document, one file each, and nowhere else.

The next release of any of them may have changed it: `tests/ground/test_private.py` says by name what.
"""
