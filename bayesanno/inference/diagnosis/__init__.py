"""Whether to believe a fit: the numbers, and the words."""
