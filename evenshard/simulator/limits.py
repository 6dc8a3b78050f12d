"""How much one machine simulates. The command's options and the definition are held to the same."""

from typing import Final

MOST_HOSTS: Final = 64
"""Hosts of one job: each is a process tree that loads a training framework of its own."""
MOST_DEVICES_PER_HOST: Final = 16
"""Training processes of one host; the largest instances have as many accelerators."""
