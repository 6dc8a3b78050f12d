"""Of training.checkpoints."""
