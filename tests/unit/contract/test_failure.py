from pathlib import Path

import pytest

from training.contract.failure import lost_peer, write_failure, write_message
from training.contract.paths import ContainerPaths


def test_a_failure_of_1024_characters_is_written_as_it_is(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    write_failure(paths, "ü" * 1024)
    assert paths.failure_file.read_text(encoding="utf-8") == "ü" * 1024


def test_a_longer_one_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    write_failure(paths, "algo-1, rank 0: " + "ü" * 5000 + "OOM when allocating tensor")
    text = paths.failure_file.read_text(encoding="utf-8")
    assert len(text) == 1024
    assert text.startswith("algo-1, rank 0: ü")
    assert " [...] " in text
    assert text.endswith("üOOM when allocating tensor")


@pytest.mark.parametrize("ahead", ["", "x"])
def test_a_message_keeps_whole_characters_of_1024_bytes(tmp_path: Path, ahead: str) -> None:
    paths = ContainerPaths(tmp_path)
    write_message(paths, ahead + "ü" * 2000 + "!")
    text = paths.message_file.read_text(encoding="utf-8")
    assert 1020 <= len(text.encode()) <= 1024
    assert text.startswith(ahead + "ü" * 300)
    assert " [...] ü" in text
    assert text.endswith("ü" * 200 + "!")
    assert "�" not in text


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
