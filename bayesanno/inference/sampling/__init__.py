"""The methods that a graph is fitted by, and where their chains start."""
