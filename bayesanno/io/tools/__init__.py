"""Tools that take labels: a new one is a file here with a `Tool`, and a line in `bayesanno.io.registry`."""
