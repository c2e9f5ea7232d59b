"""Agreement, use of labels and noise, without a model."""
