import socket
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from training.launcher.bulletin import FAILED, JOINED, Board, Bulletin

LIMIT_S = 60
LOOPBACK = "127.0.0.1"


@pytest.fixture
def board() -> Iterator[Board]:
    with closing(Board(LOOPBACK, 0)) as listening:
        yield listening


def bulletin(host: str, port: int) -> "closing[Bulletin]":
    return closing(Bulletin(host, LOOPBACK, port))


def hears_all(one: Bulletin) -> bool:
    return len(one.said(JOINED)) == 2 and bool(one.said(FAILED))


def test_every_host_learns_what_every_host_says(board: Board) -> None:
    with bulletin("algo-1", board.port) as one, bulletin("algo-2", board.port) as two:
        one.post(JOINED, "2")
        two.post(JOINED, "4")
        two.post(FAILED, "rank 3: ünlücky\nline")
        for each in (one, two):
            heard = partial(hears_all, each)
            assert each.wait(heard, LIMIT_S)
            assert each.said(JOINED) == {"algo-1": "2", "algo-2": "4"}
            assert each.said(FAILED) == {"algo-2": "rank 3: ünlücky\nline"}


def test_who_comes_late_learns_it_too(board: Board) -> None:
    with bulletin("algo-1", board.port) as one:
        one.post(JOINED)
        assert one.wait(lambda: bool(one.said(JOINED)), LIMIT_S)
    with bulletin("algo-2", board.port) as late:
        assert late.wait(lambda: "algo-1" in late.said(JOINED), LIMIT_S)


def test_what_is_posted_before_there_is_a_board_is_not_lost() -> None:
    with closing(Board(LOOPBACK, 0)) as gone:
        port = gone.port
    with bulletin("algo-2", port) as early:
        early.post(JOINED, "1")
        assert not early.wait(lambda: bool(early.said(JOINED)), 0.2)
        with closing(Board(LOOPBACK, port)):
            assert early.wait(lambda: bool(early.said(JOINED)), LIMIT_S)


def test_what_was_said_outlives_the_board(board: Board) -> None:
    with bulletin("algo-1", board.port) as one:
        one.post(FAILED, "why")
        assert one.wait(lambda: bool(one.said(FAILED)), LIMIT_S)
        board.close()
        assert one.said(FAILED) == {"algo-1": "why"}
        one.post(FAILED, "nobody hears this")


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.1\r\n\r\n", b"[1]\n", b'{"host": 1}\n', b"\xff\xfe\n"]
)
def test_a_stranger_that_knocks_is_hung_up_on_and_deafens_nobody(board: Board, said: bytes) -> None:
    with bulletin("algo-1", board.port) as one, bulletin("algo-2", board.port) as two:
        one.post(JOINED, "1")
        assert two.wait(lambda: "algo-1" in two.said(JOINED), LIMIT_S)
        with socket.create_connection((LOOPBACK, board.port), LIMIT_S) as stranger:
            stranger.sendall(said)
            stranger.settimeout(LIMIT_S)
            while stranger.recv(4096):
                pass
        two.post(FAILED, "why")
        assert one.wait(lambda: one.said(FAILED) == {"algo-2": "why"}, LIMIT_S)


def test_a_host_that_is_gone_harms_nobody(board: Board) -> None:
    with bulletin("algo-1", board.port) as one:
        with bulletin("algo-2", board.port) as two:
            two.post(JOINED)
            assert one.wait(lambda: bool(one.said(JOINED)), LIMIT_S)
        for number in range(50):
            one.post(FAILED, str(number))
        assert one.wait(lambda: one.said(FAILED) == {"algo-1": "49"}, LIMIT_S)
