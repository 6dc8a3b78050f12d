"""How an execution goes wrong, as opposed to a wrong command line (`evenshard.errors`)."""

from evenshard.errors import RefusedError


class DefinitionError(Exception):
    """The pipeline definition says something that SageMaker, or this simulator, refuses."""

    def __init__(self, path: str, message: str) -> None:
        """Name the place first: `path` is where in the definition, as `Steps.Train.Arguments.X`."""
        super().__init__(f"{path}: {message}")


def internal_failure(error: Exception) -> str:
    """The failure reason of a run that ends for a fault of this program."""
    return f"InternalFailure: {type(error).__name__}: {error}"


class ServiceError(RefusedError):
    """A service, such as the object store, refused: what was asked, its answer, what to do."""


class StepFailedError(Exception):
    """One pipeline step failed; the text is its failure reason, as SageMaker words it."""

    def __init__(self, reason: str, *, retry_as: str | None = None) -> None:
        """Give the reason, and the exception type by which a retry policy knows it, if any."""
        super().__init__(reason)
        self.retry_as = retry_as


class StepStoppedError(Exception):
    """One pipeline step was told to stop and did; the text says what to do about it."""
