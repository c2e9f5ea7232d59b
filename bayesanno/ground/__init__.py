"""What everything stands on: errors, checks, wording, lazy imports, progress."""
