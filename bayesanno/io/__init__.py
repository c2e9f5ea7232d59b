"""From files to data and back."""
