"""Which measurements a run takes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.records import contenders
from benchmarks.records.contenders import CONTENDERS, ENCODERS, Contender
from benchmarks.records.data import Data
from benchmarks.records.jobs import Job

FORMATS: Final = ("lines", "json_lines", "parquet", "tar")
SECTIONS: Final = (
    *FORMATS,
    "first",
    "wait",
    "memory",
    "spread",
    "gradients",
    "encoder",
    "loop",
)
"""What `--only` chooses from."""

WAIT_BATCH_SIZE: Final = 32
LOOP_BATCH_SIZES: Final = (32, 256)
SPREAD_BATCH_SIZE: Final = 1024
ONCE: Final = ("spread", "gradients")
"""Measures without a clock: one pass of them is enough."""
LARGE_EPOCH_S: Final = 60.0
"""Long enough for the large listing to be read to its end: its peak is what is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much a run measures."""

    passes: int
    cap_s: float
    """Of an epoch."""


QUICK: Final = Effort(passes=1, cap_s=1.0)
FULL: Final = Effort(passes=3, cap_s=3.0)


def jobs_of(data: Data, sections: Iterable[str], effort: Effort) -> list[Job]:
    """List the jobs of one pass, in the order in which they run."""
    return [job for section in sections for job in _jobs_of_section(section, data, effort)]


def _jobs_of_section(section: str, data: Data, effort: Effort) -> Iterator[Job]:
    if section in FORMATS:
        for contender in CONTENDERS:
            if contender.kind == section:
                yield from _rates(contender, data, effort)
    elif section == "first":
        yield _job("count", contenders.OURS_PACKED, data, effort)
        for kind in ("lines", "lines_large"):
            yield _job("first", contenders.OURS_STR, data, effort, kind=kind, batch_size=32)
    elif section == "wait":
        for contender in (contenders.SOURCE, contenders.OURS_STR, contenders.OURS_PACKED):
            for workers in contender.workers:
                yield _job(
                    "wait", contender, data, effort, batch_size=WAIT_BATCH_SIZE, workers=workers
                )
    elif section == "memory":
        for kind in ("lines", "lines_large"):
            for contender in (contenders.OURS_STR, contenders.OURS_PACKED):
                yield _job("memory", contender, data, effort, kind=kind, cap_s=LARGE_EPOCH_S)
    elif section == "spread":
        for contender in CONTENDERS:
            if contender is not contenders.RAW and contender.order != "no":
                yield _job("spread", contender, data, effort, batch_size=SPREAD_BATCH_SIZE)
    elif section == "gradients":
        yield Job(measure="gradients", batch_size=32)
    elif section == "encoder":
        for contender in ENCODERS:
            yield from _rates(contender, data, effort)
    elif section == "loop":
        for batch_size in LOOP_BATCH_SIZES:
            yield _job("loop", None, data, effort, kind="json_lines", batch_size=batch_size)


def _rates(contender: Contender, data: Data, effort: Effort) -> Iterator[Job]:
    for batch_size in contender.batch_sizes:
        for workers in contender.workers:
            yield _job("rate", contender, data, effort, batch_size=batch_size, workers=workers)


def _job(  # noqa: PLR0913 - a job has as many properties, most of them left out
    measure: str,
    contender: Contender | None,
    data: Data,
    effort: Effort,
    *,
    kind: str | None = None,
    batch_size: int = 1024,
    workers: int = 0,
    cap_s: float | None = None,
) -> Job:
    kind = kind or (contender.kind if contender else "lines")
    return Job(
        measure=measure,
        contender=contender.name if contender else "",
        folder=str(data.folder(kind)),
        records=data.records(kind),
        workers=workers,
        batch_size=batch_size,
        cap_s=effort.cap_s if cap_s is None else cap_s,
    )
