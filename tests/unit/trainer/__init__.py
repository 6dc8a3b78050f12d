"""Of training.trainer."""
