"""How an execution goes wrong, as opposed to a wrong command line (`evenshard.errors`)."""


class DefinitionError(Exception):
    """The pipeline definition says something that SageMaker, or this simulator, refuses."""

    def __init__(self, path: str, message: str) -> None:
        """Name the place first: `path` is where in the definition, as `Steps.Train.Arguments.X`."""
        super().__init__(f"{path}: {message}")


def internal_failure(error: Exception) -> str:
    """The failure reason of a run that ends for a fault of this program."""
    return f"InternalFailure: {type(error).__name__}: {error}"


class StepFailedError(Exception):
    """One pipeline step failed; the text is its failure reason, as SageMaker words it."""
