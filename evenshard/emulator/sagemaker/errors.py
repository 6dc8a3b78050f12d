"""Errors as the service names them."""

from typing import Final

NOT_FOUND: Final = "ResourceNotFound"
INVALID: Final = "ValidationException"
CONFLICT: Final = "ConflictException"
MALFORMED: Final = "SerializationException"
UNKNOWN: Final = "UnknownOperationException"
INTERNAL: Final = "InternalFailure"


class ServiceError(Exception):
    """A request is refused: the code that clients compare with, and what to do."""

    def __init__(self, code: str, message: str) -> None:
        """Take one of the codes of this module."""
        super().__init__(message)
        self.code = code
        self.message = message
