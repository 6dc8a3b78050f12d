"""A local AWS for tests that need no CDK."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.emulator.server_process import FaultyServer, running_server


@pytest.fixture(scope="session")
def shared_server() -> Iterator[FaultyServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def server(shared_server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> FaultyServer:
    """A server without rules, to which the environment leads."""
    shared_server.rules()
    for name, value in shared_server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    return shared_server


@pytest.fixture
def mortal_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    """One of this test's own, which it may kill."""
    with ExitStack() as stack:
        server = stack.enter_context(running_server())
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def bucket(server: FaultyServer) -> str:
    """An empty bucket of this test's own."""
    name = f"test-{uuid.uuid4().hex}"
    server.client().create_bucket(Bucket=name)
    return name
