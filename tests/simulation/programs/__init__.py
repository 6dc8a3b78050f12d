"""Scripts that the launcher runs in place of a trainer, or tests as processes."""
