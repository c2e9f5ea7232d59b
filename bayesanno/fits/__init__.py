"""A fit as one DataTree: what is stored, and how it is read."""
