"""The shapes of tables of annotations: one file each, and `registry` lists them.

A new shape is a file here with a `Format`, and its line in the registry; `format="auto"`, the errors and the help of
the command line follow from that.
"""
