"""From files to data and back.

`text_table` makes a table of text of any file or DataFrame. `formats` says what the cells of a table of annotations
are: one file for each shape, listed in its registry, and `columns` has what they share. `exports` makes a long table of
what a tool exports, one file for each tool, and `sources` finds out which of all these a source is. `annotations`,
`dimensions` and `count_tables` give data of each kind, by `read_options`; `partitioned` reads a long table in parts,
for Dask. `write` has the writers, `tools` those of labels in the forms that tools import, `datasets` the named data.
"""
