"""A local AWS for the stacks of this project: moto, with what it lacks. See docs/emulator.md.

Nothing here is imported before it is needed: moto is no part of what a user's own runs need.
"""
