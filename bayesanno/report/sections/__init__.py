"""The sections of a report.

Each function yields the blocks that answer a question, or none where a fit has no answer.
"""
