"""A job: one measurement in a process of its own, and how its peak memory is watched."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
SAMPLE_EVERY_S: Final = 0.05
LONGEST_S: Final = 300
KIB_PER_MIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one process measures."""

    measure: str
    """A function of `child.MEASURES`."""
    contender: str = ""
    """A name of `contenders.BY_NAME`, where the measure is of one."""
    folder: str = ""
    """Where the data lies."""
    records: int = 0
    """In the folder."""
    workers: int = 0
    """Worker processes."""
    batch_size: int = 1024
    """Records of a batch."""
    cap_s: float = 3.0
    """A longer epoch is cut off here and extrapolated."""

    @property
    def key(self) -> str:
        """Name the job the same in every pass."""
        parts = (self.measure, Path(self.folder).name, self.contender)
        return "|".join((*parts, f"W={self.workers}", f"B={self.batch_size}"))


def run(job: Job) -> dict[str, Any]:
    """Run a job in a fresh process.

    Returns:
        What it measured and `peak_rss_mib`, of its whole process tree; or `error`.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.records.child", json.dumps(asdict(job))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    started, peak = time.monotonic(), 0.0
    while process.poll() is None:
        peak = max(peak, sum(memory_mib(pid, "VmRSS") for pid in _tree(process.pid)))
        if time.monotonic() - started > LONGEST_S:
            process.kill()
        time.sleep(SAMPLE_EVERY_S)
    output, errors = process.communicate()
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        return {"error": (errors.strip() or output.strip() or f"exit {process.returncode}")[-800:]}
    result: dict[str, Any] = json.loads(lines[-1])
    # A process knows its own peak exactly; that of a tree is only sampled.
    result["peak_rss_mib"] = round(max(peak, result.pop("own_peak_mib")), 1)
    return result


def memory_mib(pid: int, field: str) -> float:
    """Read a process's memory: `VmRSS` is what it holds, `VmHWM` the most it has held."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    for line in status.splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / KIB_PER_MIB
    return 0.0


def _tree(pid: int) -> list[int]:
    """List a process and all below it."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            below = children.read_text(encoding="utf-8").split()
        except OSError:
            continue
        for child in below:
            found += _tree(int(child))
    return found
