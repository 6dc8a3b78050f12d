"""Of training.pytorch."""
