import numpy as np
import pytest

from training.records.formats.line_reader import Flags

FLAGS = Flags(1000)


@pytest.mark.parametrize("size", [*range(40), 999, 1000, 1001, 5000])
@pytest.mark.parametrize("share", [0, 0.001, 0.02, 0.05, 0.1, 0.5, 1])
def test_finds_every_newline_and_nothing_else(size: int, share: float) -> None:
    random = np.random.default_rng(size)
    # Flags of what was searched before must not count.
    FLAGS.newlines(np.full(1000, 10, np.uint8))
    content = np.where(random.random(size) < share, 10, random.integers(11, 256, size))
    found = FLAGS.newlines(content.astype(np.uint8))
    assert found.dtype == np.int64
    assert found.tolist() == [place for place, byte in enumerate(content.tolist()) if byte == 10]


@pytest.mark.parametrize("places", [[0], [7], [8, 9], [8, 15, 16], list(range(16, 24)), [0, 7, 63]])
def test_several_may_lie_in_eight_bytes_among_long_lines(places: list[int]) -> None:
    content = np.zeros(400, np.uint8)
    content[places] = 10
    assert FLAGS.newlines(content).tolist() == places
