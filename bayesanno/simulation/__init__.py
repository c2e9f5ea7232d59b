"""Made-up data with known truth."""
