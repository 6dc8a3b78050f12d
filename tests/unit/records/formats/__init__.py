"""Of training.records.formats."""
