"""Of evenshard.simulator.storage."""
