from pathlib import Path

import pytest

from training.contract.failure import lost_peer, write_failure, write_message
from training.contract.paths import ContainerPaths


def test_failure_keeps_the_first_1024_characters(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    write_failure(paths, "ü" * 2000)
    assert paths.failure_file.read_text(encoding="utf-8") == "ü" * 1024


def test_message_keeps_the_first_1024_bytes_and_whole_characters(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    write_message(paths, "x" + "ü" * 2000)
    assert paths.message_file.read_text(encoding="utf-8") == "x" + "ü" * 511


def test_what_is_no_text_is_written_anyway(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    write_failure(paths, "file \udce4")
    write_message(paths, "file \udce4")
    assert paths.failure_file.read_text(encoding="utf-8") == "file ?"
    assert paths.message_file.read_text(encoding="utf-8") == "file ?"


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:2203.",
        "RuntimeError: [enforce fail at pair.cc] writev: Connection reset by peer",
        "DistBackendError: NCCL error, ncclRemoteError: A call failed possibly due to a peer",
        "DistNetworkError: failed to recv, got 0 bytes",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "RuntimeError: Timed out waiting 1800000ms for recv operation to complete",
    ],
)
def test_lost_peers_are_recognized(text: str) -> None:
    assert lost_peer(text)


@pytest.mark.parametrize(
    "text",
    [
        "RecordError: part-0.jsonl, line 3: connection closed",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        "OutOfMemoryError: CUDA out of memory",
    ],
)
def test_other_failures_are_not_lost_peers(text: str) -> None:
    assert not lost_peer(text)
