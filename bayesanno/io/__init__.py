"""From files to data and back.

`registry` lists what can be read and written by name: formats (shapes of tables), exports of tools, and tools that take
labels. Each is one file in `formats`, `exports` or `tools`, which is imported when it is asked for.

`text_table` makes a table of text of any file or DataFrame, `sources` finds out what a source is, and `columns` has
what formats share. `annotations`, `dimensions` and `count_tables` give data of each kind, by `read_options`.
`partitioned` reads a long table in parts, for Dask. `write` has the writers of data, `datasets` the named data.
"""
