"""Of evenshard.simulator.pipeline."""
