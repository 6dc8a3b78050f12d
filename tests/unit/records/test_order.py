import numpy as np
import pytest
from numpy.typing import NDArray

from training.records.order import EpochOrder, Piece, cut, order_epoch

COUNTS = np.array([2, 0, 3, 1, 4, 0, 0, 5, 1])


def _order(
    counts: NDArray[np.int64] = COUNTS,
    *,
    seed: int = 5,
    epoch: int = 0,
    shuffle: bool = True,
    window_blocks: int = 2,
) -> EpochOrder:
    return order_epoch(counts, seed=seed, epoch=epoch, shuffle=shuffle, window_blocks=window_blocks)


def _sequence(order: EpochOrder, counts: NDArray[np.int64] = COUNTS) -> list[int]:
    """Number the records through the blocks and return them in the epoch's order."""
    first_records = np.cumsum([0, *counts])
    sequence: list[int] = []
    for window in range(len(order.window_bounds) - 1):
        records = [
            record
            for block in order.blocks_of(window)
            for record in range(first_records[block], first_records[block + 1])
        ]
        sequence += [records[index] for index in order.permutation(window)]
    return sequence


@pytest.mark.parametrize("window_blocks", [1, 2, 4, 9, 100])
@pytest.mark.parametrize("shuffle", [True, False])
def test_every_record_comes_once(window_blocks: int, shuffle: bool) -> None:  # noqa: FBT001 - drawn
    sequence = _sequence(_order(window_blocks=window_blocks, shuffle=shuffle))
    assert sorted(sequence) == list(range(16))
    assert (sequence == list(range(16))) is not shuffle


def test_seeds_and_epochs_each_give_another_order() -> None:
    counts = np.full(8, 8)
    # 2**32 is two words of entropy: joined carelessly, (2**32, 0) and (0, 1) would be one key.
    keys = [(0, 0), (0, 1), (1, 0), (1, 1), (2**32, 0), (2**32, 1), (2**63 - 1, 0)]
    orders = [tuple(_sequence(_order(counts, seed=s, epoch=e), counts)) for s, e in keys]
    assert len(set(orders)) == len(keys)
    assert orders[1] == tuple(_sequence(_order(counts, seed=0, epoch=1), counts))


def test_windows_of_one_epoch_are_permuted_differently() -> None:
    order = _order(np.full(8, 16), window_blocks=1)
    assert len({tuple(order.permutation(window).tolist()) for window in range(8)}) == 8


def test_the_first_window_is_not_permuted_as_the_blocks_are() -> None:
    # Plain entropy [seed, epoch] and [seed, epoch, 0] are one key to numpy: the orders would match.
    order = _order(np.ones(16, np.int64), window_blocks=16)
    assert order.permutation(0).tolist() != order.blocks.tolist()


def test_the_order_of_a_seed_is_fixed() -> None:
    # A change here moves the order of every job: make it only on purpose.
    order = _order(np.array([2, 3, 1, 4]), seed=7, epoch=1)
    assert order.blocks.tolist() == [3, 0, 1, 2]
    assert [order.permutation(window).tolist() for window in (0, 1)] == [
        [2, 1, 5, 4, 3, 0],
        [1, 0, 3, 2],
    ]


def test_pieces_cover_a_run_of_positions_window_by_window() -> None:
    order = _order(shuffle=False)  # Windows hold 2, 4, 4, 5 and 1 records.
    assert order.window_bounds.tolist() == [0, 2, 6, 10, 15, 16]
    assert list(order.pieces(1, 11)) == [
        Piece(window=0, first=1, last=2),
        Piece(window=1, first=0, last=4),
        Piece(window=2, first=0, last=4),
        Piece(window=3, first=0, last=1),
    ]
    assert list(order.pieces(15, 16)) == [Piece(window=4, first=0, last=1)]
    assert list(order.pieces(4, 4)) == []


def test_pieces_pass_over_windows_without_records() -> None:
    order = _order(np.array([1, 0, 0, 0, 1]), shuffle=False, window_blocks=1)
    assert [piece.window for piece in order.pieces(0, 2)] == [0, 4]


def test_no_blocks_have_an_order_too() -> None:
    order = _order(np.empty(0, np.int64))
    assert order.window_bounds.tolist() == [0]
    assert list(order.pieces(0, 0)) == []


@pytest.mark.parametrize("records", [0, 1, 2, 3, 7, 100])
@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_parts_differ_by_at_most_one_record(records: int, parts: int) -> None:
    sizes = np.diff(cut(records, parts))
    assert len(sizes) == parts
    assert sizes.sum() == records
    assert max(sizes) - min(sizes) <= 1


def test_batches_are_spread_over_the_data_almost_as_if_drawn_at_random() -> None:
    # 2,048 blocks of 40 records in windows of 128: the default window over 256 MiB of long lines.
    counts = np.full(2048, 40)
    sequence = np.array(_sequence(_order(counts, window_blocks=128), counts))
    spread = sequence.reshape(-1, 32).std(axis=1).mean()
    uniform = np.random.default_rng(0).permutation(sequence).reshape(-1, 32).std(axis=1).mean()
    assert spread / uniform > 0.98
