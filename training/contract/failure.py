"""How a container says why it failed, or what it has to report. Source: docs/facts.md 4."""

import re
from typing import Final

from training.contract.layout import MESSAGE_LIMIT
from training.contract.paths import ContainerPaths

SECONDARY_FAILURE: Final = "Secondary failure on "
"""How the failure text of a host begins that only saw another host vanish: not the cause."""

_GAP: Final = " [...] "

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


def shortened(message: str, limit: int = MESSAGE_LIMIT) -> str:
    """Leave out the middle of a message that is longer than SageMaker reads.

    Most exceptions say first what happened; TensorFlow's, and chains of them, do so last.
    """
    if len(message) <= limit:
        return message
    end = limit * 2 // 5
    return message[: limit - end - len(_GAP)] + _GAP + message[-end:]


def write_failure(paths: ContainerPaths, message: str) -> None:
    """Write FailureReason of a training job: 1,024 characters, without the middle of more."""
    paths.failure_file.parent.mkdir(parents=True, exist_ok=True)
    paths.failure_file.write_text(shortened(message), encoding="utf-8", errors="replace")


def write_message(paths: ContainerPaths, message: str) -> None:
    """Write ExitMessage of a processing job: 1,024 bytes, never half a character."""
    # Latin-1 stands for bytes: any of them, one each.
    read = message.encode("utf-8", errors="replace").decode("latin-1")
    text = shortened(read).encode("latin-1").decode("utf-8", errors="ignore")
    paths.message_file.parent.mkdir(parents=True, exist_ok=True)
    paths.message_file.write_text(text, encoding="utf-8")
