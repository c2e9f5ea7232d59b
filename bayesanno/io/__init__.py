"""From files to data and back.

`text_table` makes a table of text of any file or DataFrame. `formats` says what the cells of a table of annotations
are: one file for each shape, listed in its registry, and `columns` has what they share. `annotations`, `dimensions` and
`count_tables` give data of each kind, by `read_options`; `partitioned` reads a long table in parts, for Dask. `write`
has the writers, `datasets` the named data.
"""
