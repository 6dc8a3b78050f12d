"""The goals that this project has set itself, and whether a run reached them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.records import contenders
from benchmarks.records.contenders import Contender
from benchmarks.records.data import LARGE_PER_SMALL, MEMORY_LARGE, MEMORY_SMALL
from benchmarks.records.jobs import Job
from benchmarks.records.plan import (
    GRADIENT_BATCH_SIZE,
    LOOP_BATCH_SIZES,
    SPREAD_BATCH_SIZE,
    WAIT_BATCH_SIZE,
)
from benchmarks.records.results import Results, Values

RATE: Final = "records_per_second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One figure that is to be at least, or at most, some bound."""

    what: str
    bound: float
    unit: str
    at_least: bool
    reached: Values

    @property
    def passed(self) -> bool:
        """Whether the median keeps the bound."""
        value = self.reached.median
        return value >= self.bound if self.at_least else value <= self.bound

    @property
    def asked(self) -> str:
        """Write the bound."""
        return f"{'>=' if self.at_least else '<='} {self.bound:g} {self.unit}".strip()

    @property
    def got(self) -> str:
        """Write what was reached."""
        return f"{self.reached.median:.3g} {self.unit}".strip()


def goals_of(results: Results) -> list[Goal]:
    """List the goals that the run has measured."""
    return [*_rates(results), *_starts(results), *_memory(results), *_quality(results)]


def _rates(results: Results) -> Iterator[Goal]:
    source, ours = contenders.SOURCE, contenders.OURS_STR
    for batch_size, workers, bound in ((32, 0, 5), (32, 2, 30), (1024, 0, 3.5), (1024, 2, 12)):
        yield from _ratio(
            f"str batches against readlines + DataLoader, W={workers}, B={batch_size}",
            bound,
            _rate(results, ours, batch_size),
            _rate(results, source, batch_size, workers),
        )
    packed = _rate(results, contenders.OURS_PACKED)
    yield from _ratio("packed batches against raw", 0.35, packed, _rate(results, contenders.RAW))
    yield from _ratio(
        "packed batches against pyarrow.csv, unshuffled",
        1.0,
        packed,
        _rate(results, contenders.PYARROW_CSV),
    )
    for what, encoder, per_record in (
        ("padded tokens", contenders.PADDED, contenders.PADDED_PER_RECORD),
        ("JSON Lines to n-grams", contenders.BAGS, contenders.BAGS_PER_RECORD),
    ):
        for batch_size in (32, 1024):
            yield from _ratio(
                f"{what} against the same per record, B={batch_size}",
                3.0,
                _rate(results, encoder, batch_size),
                _rate(results, per_record, batch_size),
            )
    webdataset = [
        _rate(results, contenders.WEBDATASET, 1024, workers)
        for workers in contenders.WEBDATASET.workers
    ]
    # Against the better of its two ways to run.
    best = max((rate for rate in webdataset if rate), key=lambda rate: rate.median, default=None)
    yield from _ratio("tar against webdataset", 7.0, _rate(results, contenders.OURS_TAR), best)
    yield from _ratio(
        "Parquet against pyarrow.dataset.to_batches, unshuffled (0.8 is accepted)",
        1.0,
        _rate(results, contenders.OURS_PARQUET),
        _rate(results, contenders.PYARROW_PARQUET),
    )


def _starts(results: Results) -> Iterator[Goal]:
    for kind, size in (("lines", "1 x"), ("lines_large", "8 x")):
        first = results.of("first", contenders.OURS_STR, "first_batch_s", batch_size=32, kind=kind)
        if first:
            milliseconds = Values(tuple(value * 1000 for value in first.values))
            yield _at_most(f"first batch, {size} the data", 50, "ms", milliseconds)
    counting = results.of("count", contenders.OURS_PACKED, "seconds_per_gb")
    if counting:
        yield _at_most("counting the records", 0.6, "s/GB", counting)
    wait = results.of("wait", contenders.OURS_STR, "p99_ms", batch_size=WAIT_BATCH_SIZE)
    if wait:
        yield _at_most("wait behind a 2 ms step, B=32, p99, str", 0.1, "ms", wait)


def _memory(results: Results) -> Iterator[Goal]:
    for contender in (contenders.OURS_STR, contenders.OURS_PACKED):
        small, large = (
            results.of("memory", contender, "peak_rss_mib", kind=kind)
            for kind in (MEMORY_SMALL, MEMORY_LARGE)
        )
        if small and large:
            # In one pass both are measured, or it was cut off.
            more = Values(tuple(b - a for a, b in zip(small.values, large.values, strict=False)))
            much = f"{LARGE_PER_SMALL} x the data"
            yield _at_most(f"peak memory, {much}, {contender.yields}", 150, "MiB", large)
            yield _at_most(f"more memory for {much}, {contender.yields}", 5, "MiB", more)


def _quality(results: Results) -> Iterator[Goal]:
    for contender in (
        contenders.OURS_STR,
        contenders.OURS_PARQUET,
        contenders.OURS_PARQUET_SMALL_GROUPS,
        contenders.OURS_TAR,
    ):
        spread = results.of("spread", contender, "spread", batch_size=SPREAD_BATCH_SIZE)
        if spread:
            yield Goal(
                what=f"shuffle spread, {contender.kind.replace('_', ' ')}",
                bound=0.99,
                unit="",
                at_least=True,
                reached=spread,
            )
    gradients = Job(measure="gradients", batch_size=GRADIENT_BATCH_SIZE).key
    error = results.values(gradients, "weight")
    if error:
        yield _at_most("gradient error on uneven shards", 1e-6, "", error)
    for batch_size in LOOP_BATCH_SIZES:
        key = Job(measure="loop", folder="json_lines", batch_size=batch_size).key
        overhead = results.values(key, "overhead")
        if overhead:
            percent = Values(tuple(value * 100 for value in overhead.values))
            yield _at_most(
                f"training loop against tensors in memory, B={batch_size}", 3, "%", percent
            )


def _rate(
    results: Results, contender: Contender, batch_size: int = 1024, workers: int = 0
) -> Values | None:
    return results.of("rate", contender, RATE, batch_size=batch_size, workers=workers)


def _ratio(what: str, bound: float, ours: Values | None, theirs: Values | None) -> Iterator[Goal]:
    if ours and theirs:
        yield Goal(what=what, bound=bound, unit="x", at_least=True, reached=ours / theirs)


def _at_most(what: str, bound: float, unit: str, reached: Values) -> Goal:
    return Goal(what=what, bound=bound, unit=unit, at_least=False, reached=reached)
