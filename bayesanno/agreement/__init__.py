"""What data say without a model."""
