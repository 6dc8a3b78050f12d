"""The parts of the launcher. Standard library only, except `agent`, which runs under torch."""
