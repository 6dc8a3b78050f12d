"""Of training.contract."""
