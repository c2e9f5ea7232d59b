"""What a model is, and the one place where latents are summed out and recovered."""
