"""Which measurements a run takes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.records import contenders
from benchmarks.records.contenders import CONTENDERS, ENCODERS, Contender
from benchmarks.records.data import MEMORY_LARGE, MEMORY_SMALL, PARQUET_SMALL_GROUPS, Data
from benchmarks.records.jobs import Job

SMALL_AND_LARGE: Final = ("lines", "lines_large")
WAIT_BATCH_SIZE: Final = 32
GRADIENT_BATCH_SIZE: Final = 32
LARGE_BATCH_SIZE: Final = 1024
LOOP_BATCH_SIZES: Final = (32, 256)
SPREAD_BATCH_SIZE: Final = 256
ONCE: Final = ("spread", "gradients", "loop")
"""Measures without a clock, or with rounds of their own: one pass of them is enough."""
LARGE_EPOCH_S: Final = 60.0
"""Long enough for the large data to be read to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much a run measures."""

    passes: int
    cap_s: float
    """Of an epoch, after its first batch."""
    brief: bool
    """Small batches only where a goal asks for them."""

    def in_pass(self, number: int) -> "Effort":
        """Return the effort of a pass, counted from 0: what no goal asks for is in the first."""
        return replace(self, brief=self.brief or number > 0)


Section = Callable[[Data, Effort], Iterator[Job]]
"""Some jobs of a pass, under one name."""

QUICK: Final = Effort(passes=1, cap_s=0.7, brief=True)
FULL: Final = Effort(passes=3, cap_s=2.0, brief=False)


def jobs_of(data: Data, sections: Iterable[str], effort: Effort) -> list[Job]:
    """List the jobs of one pass, in the order in which they run."""
    return [job for section in sections for job in SECTIONS[section](data, effort)]


def _format(*kinds: str) -> Section:
    def section(data: Data, effort: Effort) -> Iterator[Job]:
        for contender in CONTENDERS:
            if contender.kind in kinds:
                yield from _rates(contender, data, effort)

    return section


def _first(data: Data, effort: Effort) -> Iterator[Job]:
    yield _job("count", contenders.OURS_PACKED, data, effort)
    for kind in SMALL_AND_LARGE:
        yield _job("first", contenders.OURS_STR, data, effort, kind=kind, batch_size=32)


def _wait(data: Data, effort: Effort) -> Iterator[Job]:
    for contender in (contenders.SOURCE, contenders.OURS_STR, contenders.OURS_PACKED):
        for workers in contender.workers:
            job = _job("wait", contender, data, effort, batch_size=WAIT_BATCH_SIZE)
            yield replace(job, workers=workers)


def _memory(data: Data, effort: Effort) -> Iterator[Job]:
    # Both are read to their ends: their peaks are what is asked for.
    to_the_end = replace(effort, cap_s=LARGE_EPOCH_S)
    for kind in (MEMORY_SMALL, MEMORY_LARGE):
        for contender in (contenders.OURS_STR, contenders.OURS_PACKED):
            yield _job("memory", contender, data, to_the_end, kind=kind)


def _spread(data: Data, effort: Effort) -> Iterator[Job]:
    # The first windows of an epoch are short: more of it tells more.
    patient = replace(effort, cap_s=effort.cap_s * 2)
    for contender in CONTENDERS:
        if contender is not contenders.RAW and contender.order != "no":
            yield _job("spread", contender, data, patient, batch_size=SPREAD_BATCH_SIZE)


def _gradients(_data: Data, _effort: Effort) -> Iterator[Job]:
    yield Job(measure="gradients", batch_size=GRADIENT_BATCH_SIZE)


def _encoder(data: Data, effort: Effort) -> Iterator[Job]:
    for contender in ENCODERS:
        yield from _rates(contender, data, effort)


def _loop(data: Data, _effort: Effort) -> Iterator[Job]:
    for batch_size in LOOP_BATCH_SIZES:
        folder = str(data.folder("json_lines"))
        yield Job(measure="loop", folder=folder, batch_size=batch_size)


SECTIONS: Final[dict[str, Section]] = {
    "lines": _format("lines"),
    "json_lines": _format("json_lines"),
    "parquet": _format("parquet", PARQUET_SMALL_GROUPS),
    "tar": _format("tar"),
    "encoder": _encoder,
    "first": _first,
    "wait": _wait,
    "memory": _memory,
    "spread": _spread,
    "gradients": _gradients,
    "loop": _loop,
}
"""What `--only` chooses from."""

CONVERTED: Final[dict[str, tuple[str, ...]]] = {
    "lines": ("lines",),
    "json_lines": ("json_lines",),
    "parquet": ("parquet",),
    "spread": ("lines", "json_lines", "parquet"),
}
"""What must be converted for the peers of a section."""


def conversions(data: Data, sections: Iterable[str]) -> list[Job]:
    """List the conversions that some sections need."""
    kinds = dict.fromkeys(kind for section in sections for kind in CONVERTED.get(section, ()))
    return [Job(measure="convert", folder=str(data.folder(kind))) for kind in kinds]


def _rates(contender: Contender, data: Data, effort: Effort) -> Iterator[Job]:
    asked_small = contender in (contenders.SOURCE, contenders.OURS_STR, *ENCODERS)
    for batch_size in contender.batch_sizes:
        if effort.brief and batch_size < LARGE_BATCH_SIZE and not asked_small:
            continue
        for workers in contender.workers:
            job = _job("rate", contender, data, effort, batch_size=batch_size)
            yield replace(job, workers=workers)


def _job(
    measure: str,
    contender: Contender,
    data: Data,
    effort: Effort,
    *,
    kind: str | None = None,
    batch_size: int = 1024,
) -> Job:
    return Job(
        measure=measure,
        contender=contender.name,
        folder=str(data.folder(kind or contender.kind)),
        records=data.records(kind or contender.kind),
        batch_size=batch_size,
        cap_s=effort.cap_s,
    )
