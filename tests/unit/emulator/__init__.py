"""Of evenshard.emulator."""
