"""The built-in tasks, and how a task is found by its name."""

from training.pytorch.tasks.registry import make_task

__all__ = ["make_task"]
