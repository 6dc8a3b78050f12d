"""Of training.steps."""
