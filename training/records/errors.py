"""What can go wrong with the records of a job, as the user sees it."""


class RecordError(ValueError):
    """The data cannot be read as records: names the shard and, where there is one, the line."""


class AgreementError(ValueError):
    """The ranks of one job do not fit together; every rank raises it with the same message."""


class StateError(ValueError):
    """The saved state of an epoch does not fit: its shards, its settings, or the state itself."""
