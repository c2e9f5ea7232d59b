"""What a user reads from a fit."""
