"""Of evenshard.simulator.deployment."""
