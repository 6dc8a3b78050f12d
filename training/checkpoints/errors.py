"""The error of a checkpoint that cannot be written or used."""


class CheckpointError(Exception):
    """A checkpoint could not be written, or must not be used; the message says what to do."""
