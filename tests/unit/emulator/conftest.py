"""One emulator for the tests of a module, and clients of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evenshard.emulator.server import Emulator

Connect = Callable[[str], Any]
"""Service -> boto3's client."""


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """A server on a free port."""
    with Emulator() as server:
        yield server


@pytest.fixture(scope="module")
def connect(emulator: Emulator) -> Connect:
    """Makes clients that know no other server."""
    return emulator.client
