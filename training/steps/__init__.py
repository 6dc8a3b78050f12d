"""Processing steps of the pipeline."""
