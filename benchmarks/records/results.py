"""What a run has measured: each value once per pass, looked up by what it is of."""

import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, Final, Self

from benchmarks.records.contenders import Contender
from benchmarks.records.jobs import Job

PACKAGES: Final = (
    "numpy",
    "pyarrow",
    "torch",
    "tensorflow-cpu",
    "webdataset",
    "litdata",
    "datasets",
)


@dataclass(frozen=True, slots=True)
class Values:
    """One number per pass, in the order of the passes."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.values)

    @property
    def noise(self) -> float:
        """Half the range, against the median; 0.1 is 10 percent."""
        return (max(self.values) - min(self.values)) / 2 / abs(self.median or 1)

    def __truediv__(self, other: "Values") -> "Values":
        """Divide pass by pass: what slows a pass down slows both."""
        return Values(tuple(a / b for a, b in zip(self.values, other.values, strict=False)))


@dataclass(slots=True)
class Results:
    """All of a run."""

    jobs: dict[str, Job] = field(default_factory=dict)
    """By key."""
    passes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What each pass of a job gave, by key."""
    loads: list[float] = field(default_factory=list)
    """Load averages of the last minute, at the beginning of each pass and at the end."""

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> Self:
        """Read what `as_json` gave."""
        results = cls(loads=list(written["load_averages"]))
        for measurement in written["measurements"]:
            job = Job(**measurement["job"])
            for result in measurement["passes"]:
                results.add(job, result)
        return results

    def add(self, job: Job, result: dict[str, Any]) -> None:
        """Keep what a pass of a job gave."""
        self.jobs[job.key] = job
        self.passes.setdefault(job.key, []).append(result)

    def forget(self, jobs: Iterable[Job]) -> None:
        """Drop what was measured of some jobs."""
        for job in jobs:
            self.jobs.pop(job.key, None)
            self.passes.pop(job.key, None)

    def passes_of(self, jobs: Iterable[Job]) -> int:
        """Count the passes that were taken of some jobs."""
        return max((len(self.passes.get(job.key, ())) for job in jobs), default=0)

    def note_load(self) -> None:
        """Keep the machine's load."""
        self.loads.append(round(os.getloadavg()[0], 2))

    def values(self, key: str, metric: str) -> Values | None:
        """Look a metric of a job up; None if it was not measured, or not in every pass."""
        found = [result.get(metric) for result in self.passes.get(key, [])]
        numbers = tuple(float(value) for value in found if isinstance(value, int | float))
        return Values(numbers) if numbers and len(numbers) == len(found) else None

    def of(
        self,
        measure: str,
        contender: Contender,
        metric: str,
        *,
        batch_size: int = 1024,
        workers: int = 0,
        kind: str | None = None,
    ) -> Values | None:
        """Look a metric of a contender up."""
        job = Job(
            measure=measure,
            contender=contender.name,
            folder=kind or contender.kind,
            workers=workers,
            batch_size=batch_size,
        )
        return self.values(job.key, metric)

    def as_json(self) -> dict[str, Any]:
        """Give everything, for a file."""
        return {
            "machine": _machine(),
            "load_averages": self.loads,
            "measurements": [
                {"job": asdict(job) | {"folder": Path(job.folder).name}, "passes": self.passes[key]}
                for key, job in self.jobs.items()
            ],
        }


def _machine() -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    models = [line.split(":")[1].strip() for line in cpuinfo.splitlines() if "model name" in line]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9, 1),
        "python": platform.python_version(),
        "packages": _versions(),
    }


def _versions() -> dict[str, str]:
    """Return the releases of the packages that are there."""
    found = {package.name: package.version for package in metadata.distributions()}
    return {name: found[name] for name in PACKAGES if name in found}
