"""Label switching, and the rules that undo it."""
