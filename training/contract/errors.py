"""The error of a container whose inputs are not what they must be."""


class ContractError(Exception):
    """What SageMaker, or whoever plays it, gave cannot be used; the message says what to do."""
