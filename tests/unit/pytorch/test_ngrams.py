import os
import subprocess
import sys
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from training.pytorch.ngrams import hash_ngrams


def test_runs_of_one_and_two_words() -> None:
    expected = {crc32(run) % 1000 for run in (b" free", b" money", b" now", b" free money")}
    expected.add(crc32(b" money now") % 1000)
    assert hash_ngrams("Free MONEY, now", ngrams=2, buckets=1000) == sorted(expected)


def test_known_values() -> None:
    # Models on disk depend on these: a change makes them useless.
    assert hash_ngrams("Free money!!! Straße", ngrams=2, buckets=2**16) == [
        4857,
        12428,
        16492,
        22856,
        23659,
        36109,
        50893,
    ]


def test_no_words_no_ngrams() -> None:
    assert hash_ngrams(" ,.\n ", ngrams=2, buckets=16) == []


@given(st.text(), st.integers(1, 5), st.integers(1, 100))
def test_results_are_distinct_ascending_rows(text: str, ngrams: int, buckets: int) -> None:
    found = hash_ngrams(text, ngrams=ngrams, buckets=buckets)
    assert found == sorted(set(found))
    assert all(0 <= bucket < buckets for bucket in found)
    assert set(hash_ngrams(text, ngrams=1, buckets=buckets)) <= set(found)


def test_every_process_hashes_alike() -> None:
    program = (
        "from training.pytorch.ngrams import hash_ngrams; "
        "print(hash_ngrams('the same words', ngrams=3, buckets=65536))"
    )
    here = str(hash_ngrams("the same words", ngrams=3, buckets=65536))
    for seed in ("1", "2"):
        result = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stdout.strip() == here
