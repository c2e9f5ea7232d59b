"""The zoo: one file per model, each to be read from top to bottom."""
