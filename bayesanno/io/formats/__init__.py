"""The shapes of tables of annotations: a new one is a `Format` here, and a line in `bayesanno.io.registry`."""
