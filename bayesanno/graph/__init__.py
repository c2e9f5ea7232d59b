"""A graph of PyMC compiled, and its points: the functions that nutpie calls, without the sizes of data."""
