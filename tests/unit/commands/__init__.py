"""Of evenshard.commands."""
