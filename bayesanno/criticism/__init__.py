"""Model criticism and comparison."""
