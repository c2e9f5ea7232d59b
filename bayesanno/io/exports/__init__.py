"""Exports of annotation tools: one file for each tool, and a line in `bayesanno.io.registry`.

`document` holds a file before its tool is known, and `records` the values of a record. `answers` defines an export and
turns its answers into a long table, which is then read like any other.
"""
