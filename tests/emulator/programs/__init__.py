"""Programs that simulated hosts run."""
