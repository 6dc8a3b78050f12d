"""Of training.shards."""
