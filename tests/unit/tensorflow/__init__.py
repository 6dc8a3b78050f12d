"""Of training.tensorflow."""
