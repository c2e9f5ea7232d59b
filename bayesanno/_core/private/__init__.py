"""Undocumented parts of PyTensor, PyMC and nutpie that this package uses: one file for each library.

Each name is imported only there, so that a change in a new release is fixed in one place. For each,
`tests/_core/test_private.py` tests the behaviour that the package relies on, and names what has changed.
"""
