"""How a container says why it failed, or what it has to report. Source: docs/facts.md 4."""

import re
from typing import Final

from training.contract.layout import MESSAGE_LIMIT
from training.contract.paths import ContainerPaths

SECONDARY_FAILURE: Final = "Secondary failure on "
"""How the failure text of a host begins that only saw another host vanish: not the cause."""

_LOST_PEER: Final = re.compile(
    r"^(RuntimeError|Dist\w*Error|Connection\w*Error): .*"
    r"(connection (was likely )?(closed|reset|refused|aborted)|broken pipe|timed? ?out|timeout"
    r"|ncclRemoteError|failed to (connect|recv|send))"
    r"|^UnavailableError: |^\w+Error: .*Collective ops is aborted by: ",
    re.IGNORECASE | re.DOTALL,
)
"""What gloo, NCCL, torch's store and TensorFlow say when the process at the other end is gone."""


def lost_peer(exception: str) -> bool:
    """Whether an exception, "Type: text", only says that another process is gone."""
    return _LOST_PEER.search(exception) is not None


def write_failure(paths: ContainerPaths, message: str) -> None:
    """Write FailureReason of a training job: the first 1,024 characters of the message."""
    paths.failure_file.parent.mkdir(parents=True, exist_ok=True)
    paths.failure_file.write_text(message[:MESSAGE_LIMIT], encoding="utf-8", errors="replace")


def write_message(paths: ContainerPaths, message: str) -> None:
    """Write ExitMessage of a processing job: the first 1,024 bytes, never half a character."""
    head = message.encode("utf-8", errors="replace")[:MESSAGE_LIMIT]
    paths.message_file.parent.mkdir(parents=True, exist_ok=True)
    paths.message_file.write_text(head.decode("utf-8", errors="ignore"), encoding="utf-8")
