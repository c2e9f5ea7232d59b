"""The methods that fit a graph, and the starts of their chains."""
