"""Of evenshard.simulator.steps."""
