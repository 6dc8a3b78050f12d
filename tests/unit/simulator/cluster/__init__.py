"""Of evenshard.simulator.cluster."""
