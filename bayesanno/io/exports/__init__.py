"""Exports of the tools in which people annotate: one file for each tool, and a line in `bayesanno.io.registry`.

`document` has what is in a file before its tool is known, and `records` the values of a record. `answers` has what an
export is: it makes of its answers a long table, which is then read as every other.
"""
