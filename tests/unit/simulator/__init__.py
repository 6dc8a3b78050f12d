"""Of evenshard.simulator: single steps on a stage, and small whole runs."""
