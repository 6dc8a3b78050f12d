"""How the process of a rank ends: without a traceback where the message alone says what to do."""

import sys
from collections.abc import Callable
from typing import Final

from training.checkpoints import CheckpointError
from training.contract.errors import ContractError
from training.contract.failure import lost_peer
from training.records import AgreementError, RecordError, StateError

TOLD_BY_MESSAGE: Final = (
    AgreementError,
    CheckpointError,
    ContractError,
    FloatingPointError,
    RecordError,
    StateError,
)
"""Errors whose message says what to do."""


def run_rank(main: Callable[[], None]) -> None:
    """Run a trainer; end the process with 1 and a message if it fails.

    Args:
        main: leaves its exception where the launcher finds it.

    Raises:
        Exception: what `main` raised, where its traceback is needed.
    """
    try:
        main()
    except TOLD_BY_MESSAGE as error:
        sys.exit(f"{error}")
    except Exception as error:
        if lost_peer(f"{type(error).__name__}: {error}"):
            sys.exit(f"Lost the other ranks: {error}")
        raise
