from itertools import groupby, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from training.records.order import (
    BlockLayout,
    EpochOrder,
    OrderKey,
    Piece,
    cut,
    pieces,
    place_of,
)

COUNTS = np.array([2, 0, 3, 1, 4, 0, 0, 5, 1])


def _layout(blocks: int) -> BlockLayout:
    return BlockLayout(first_blocks=np.array([0, blocks]))


def _order(
    counts: NDArray[np.int64] = COUNTS,
    *,
    seed: int = 5,
    epoch: int = 0,
    shuffle: bool = True,
    window_blocks: int = 2,
) -> EpochOrder:
    key = OrderKey(
        seed=seed,
        epoch=epoch,
        digest=0,
        shuffle=shuffle,
        window_blocks=window_blocks,
        window_bytes=1000,
    )
    return key.order(np.arange(len(counts)), _layout(len(counts)))


def _sequence(order: EpochOrder, counts: NDArray[np.int64] = COUNTS) -> list[int]:
    """Number the records through the blocks and return them in the epoch's order."""
    first_records = np.cumsum([0, *counts])
    sequence: list[int] = []
    for window in range(order.windows):
        records = [
            record
            for block in order.blocks_of(window)
            for record in range(first_records[block], first_records[block + 1])
        ]
        sequence += [records[index] for index in order.permutation(window, len(records))]
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
    assert len({tuple(order.permutation(window, 16).tolist()) for window in range(8)}) == 8


def test_the_first_window_is_not_permuted_as_the_blocks_are() -> None:
    # Plain entropy [seed, epoch] and [seed, epoch, 0] are one key to numpy: the orders would match.
    order = _order(np.ones(16, np.int64), window_blocks=16)
    assert order.permutation(0, 16).tolist() != order.blocks.tolist()


def test_the_order_of_a_seed_is_fixed() -> None:
    # A change here moves the order of every job: make it only on purpose.
    order = _order(np.array([2, 3, 1, 4]), seed=7, epoch=1)
    assert order.blocks.tolist() == [1, 3, 2, 0]
    assert order.window_firsts.tolist() == [0, 1, 3, 4]
    assert order.permutation(0, 3).tolist() == [1, 0, 2]
    assert order.permutation(1, 6).tolist() == [0, 1, 5, 2, 3, 4]


def test_pieces_cover_a_run_of_positions_window_by_window() -> None:
    order = _order(shuffle=False)
    bounds = order.window_bounds(COUNTS)
    # The first window is of one block, the next of two.
    assert bounds.tolist() == [0, 2, 5, 10, 10, 16]
    assert list(pieces(bounds, 1, 11)) == [
        Piece(window=0, first=1, last=2),
        Piece(window=1, first=0, last=3),
        Piece(window=2, first=0, last=5),
        Piece(window=4, first=0, last=1),
    ]
    assert list(pieces(bounds, 15, 16)) == [Piece(window=4, first=5, last=6)]
    assert list(pieces(bounds, 4, 4)) == []
    assert [place_of(bounds, position) for position in (0, 4, 10, 16)] == [
        (0, 0),
        (1, 2),
        (4, 0),
        (5, 0),
    ]


def test_no_blocks_have_an_order_too() -> None:
    order = _order(np.empty(0, np.int64))
    assert order.windows == 0
    assert order.window_bounds(np.empty(0, np.int64)).tolist() == [0]


@pytest.mark.parametrize("window_blocks", [1, 15, 16, 40, 128])
def test_the_first_windows_are_short(window_blocks: int) -> None:
    firsts = _order(np.ones(1000, np.int64), window_blocks=window_blocks).window_firsts
    lengths = [int(last - first) for first, last in pairwise(firsts)]
    assert sum(lengths) == 1000
    assert lengths[0] == max(window_blocks // 16, 1)
    for length, following in pairwise(lengths[:-1]):
        assert following == min(2 * length, window_blocks)
    assert lengths[-2] == window_blocks


def test_windows_of_unequal_blocks_end_by_their_bytes() -> None:
    sizes = np.array([5, 90, 1, 1, 1, 3000, 10, 20, 970, 1, 1])
    layout = BlockLayout(first_blocks=np.array([0, 11]), sizes=sizes)
    key = OrderKey(seed=0, epoch=0, digest=0, shuffle=False, window_blocks=2, window_bytes=1600)
    order = key.order(np.arange(11), layout)
    # 100, 200, 400, 800, 1600 bytes at most, but one block at least.
    assert order.window_firsts.tolist() == [0, 5, 6, 8, 9, 11]


@pytest.mark.parametrize("epoch", range(5))
def test_blocks_of_a_sequential_shard_stay_together(epoch: int) -> None:
    layout = BlockLayout(first_blocks=np.array([0, 3, 3, 7, 9]), sequential=True)
    key = OrderKey(seed=0, epoch=epoch, digest=0, shuffle=True, window_blocks=2, window_bytes=1)
    blocks = key.order(np.array([0, 2, 3, 4, 5, 6, 7, 8]), layout).blocks.tolist()
    assert sorted(blocks) == [0, 2, 3, 4, 5, 6, 7, 8]
    together = [
        list(group) for _, group in groupby(blocks, key=[0, 0, 0, 2, 2, 2, 2, 3, 3].__getitem__)
    ]
    assert sorted(together) == [[0, 2], [3, 4, 5, 6], [7, 8]]


@pytest.mark.parametrize("parts", [1, 2, 3, 12])
def test_uncounted_parts_share_the_blocks_out(parts: int) -> None:
    order = _order(window_blocks=16)
    shares = [order.part(part, parts) for part in range(parts)]
    assert [block for share in shares for block in share.blocks] == order.blocks.tolist()
    sizes = [len(share.blocks) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert all(share.window_firsts[-1] == len(share.blocks) for share in shares)
    assert len({tuple(share.permutation(0, 50).tolist()) for share in shares}) == parts


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
