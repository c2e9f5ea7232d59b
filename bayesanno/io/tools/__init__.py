"""What labels are exported to: one file for each tool, and `registry` lists them.

A new tool is a file here with a `Tool`, and its line in the registry; the errors and the help of the command line
follow from that. `tasks` reads what a tool shows of each item.
"""
