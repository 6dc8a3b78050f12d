"""What moto lacks for our stacks: resource types, and the refusal of those it does not know."""

from evenshard.emulator.cloudformation.teaching import teach_cloudformation

__all__ = ["teach_cloudformation"]
