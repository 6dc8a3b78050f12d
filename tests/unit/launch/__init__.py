"""Of training.launch and training.launcher."""
