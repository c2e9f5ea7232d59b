"""All figures of the package, one file per family; functions `plot_*` return a figure."""
