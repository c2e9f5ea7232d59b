"""The sections of a report, each a question and the blocks that answer it.

What cannot be said of a fit (no gold, no draws, no items) is left out, or said in a sentence.
"""
