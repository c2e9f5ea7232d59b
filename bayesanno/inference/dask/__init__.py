"""Annotations that lie on the workers of a Dask cluster."""
