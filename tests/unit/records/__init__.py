"""Of training.records."""
