"""What the models of correctness, model A and its relatives, share."""
