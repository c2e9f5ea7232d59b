"""From files to data and back: a source becomes a DataFrame, this one long table, and that data.

`sources` opens files, standard input and data in memory, `datasets` the named data. `shapes`, `comparisons` and
`records` make the long table, a DataFrame with a row for each answer: of tables, of comparisons and rankings, and of
nested records by `paths`; exports of tools are records, as `tools.toml` describes them. `names` says what a column is
by its name, and asks where names do not decide. `read` chooses among these and makes data; `beside` adds tables about
items, annotators and known labels; `check` lists what looks like a mistake, by `doubts.toml`. `counts` reads counts,
`partitioned` a long table in parts, for Dask. `write` has the writers.
"""
