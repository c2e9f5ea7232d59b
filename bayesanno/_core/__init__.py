"""The base of the package: errors, checks, wording, lazy imports, progress."""
