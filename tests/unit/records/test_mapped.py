import os

import numpy as np
import pyarrow as pa
import pytest

from training.records import Packed
from training.records.formats import lines
from training.records.mapped import Lent, MappedPool, map_memory
from training.records.packed import pack


def _pool(spares: int = 2) -> MappedPool:
    return MappedPool(least_bytes=1 << 16, spares=spares)


def test_memory_is_lent_again_once_nobody_holds_it() -> None:
    pool = _pool()
    first, second = pool.lend(10), pool.lend(10)
    memories = {id(first.memory), id(second.memory)}
    assert len(memories) == 2
    del first, second
    first, second = pool.lend(10), pool.lend(20)
    assert {id(first.memory), id(second.memory)} == memories


@pytest.mark.parametrize(
    "hold",
    [
        lambda lent: lent.content[3:5],
        lambda lent: lent.content.view(np.int64)[1:][::2],
        lambda lent: pa.py_buffer(lent.content[8:]),
        lambda lent: np.frombuffer(pa.py_buffer(lent.content).slice(8, 16), np.uint8),
        lambda lent: pa.Array.from_buffers(pa.uint8(), 4, [None, pa.py_buffer(lent.content)]).slice(
            2
        ),
    ],
)
def test_a_view_or_a_buffer_keeps_memory_lent(hold) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - of each case
    pool = _pool()
    lent = pool.lend(64)
    memory, held = id(lent.memory), hold(lent)
    del lent
    other = pool.lend(64)
    assert id(other.memory) != memory
    del held
    assert id(pool.lend(64).memory) == memory


def test_memory_that_is_too_short_is_let_go_of() -> None:
    pool = _pool()
    assert len(pool.lend(10).memory) == 1 << 16
    long = pool.lend(1 << 20)
    assert len(long.memory) >= 1 << 20
    memory = id(long.memory)
    del long
    assert id(pool.lend(10).memory) == memory


def test_no_more_spares_are_kept_than_asked_for() -> None:
    pool = _pool(spares=1)
    lent = [pool.lend(10) for _ in range(3)]
    del lent
    kept = pool.lend(10)
    assert isinstance(kept, Lent)
    assert len(pool._kept) == 0


def test_a_forked_process_has_memory_of_its_own() -> None:
    memory = map_memory(10)
    memory[:4] = b"mine"
    child = os.fork()
    if not child:
        memory[:4] = b"hers"
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert memory[:4] == b"mine"


def test_lines_do_not_change_while_somebody_holds_them() -> None:
    content = np.arange(1 << 20, dtype=np.uint32).view(np.uint8)
    offsets = np.arange(0, len(content) + 1, 64, dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    array = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    held = []
    for _ in range(6):
        moved = lines._moved(array)
        assert moved.equals(array)
        packed = pack(moved.slice(5, 1000))
        assert isinstance(packed, Packed)
        held.append(packed.content)
        del moved, packed
    assert all(bytes(one) == bytes(content[320 : 320 + 64_000]) for one in held)
    assert not any(one.flags.writeable for one in held)
