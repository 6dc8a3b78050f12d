"""The tables of docs/benchmarks.md, from the seconds that were measured."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.pages import replace_between
from benchmarks.training_loop.measuring import BARE, BATCH_SIZE, IN_MEMORY, STEPS, WHOLE, cpu_of

OVERHEAD_RANKS: Final = 2
MARKERS: Final = ("<!-- training loop begins -->\n", "<!-- training loop ends -->\n")

Seconds = Mapping[str, Sequence[float]]
"""Of each loop: an epoch in each round."""
Found = Mapping[str, Mapping[int, Seconds]]
"""By task and number of ranks."""


def overhead(seconds: Seconds, loop: str, bare: str = BARE) -> float:
    """How much more a loop takes than the bare one: the median of the rounds' ratios."""
    pairs = zip(seconds[loop], seconds[bare], strict=True)
    return median(taken / bare for taken, bare in pairs) - 1


def tables(found: Found, loads: Sequence[float]) -> str:
    """Both tables, and under which circumstances they were measured."""
    overheads = [
        "| task | bare step | our loop on its tensors | its processor time | with the data layer |",
        "|---|---|---|---|---|",
    ]
    for task, by_ranks in found.items():
        seconds = by_ranks[OVERHEAD_RANKS]
        overheads.append(
            f"| {task} | {median(seconds[BARE]) / STEPS * 1000:.1f} ms "
            f"| {overhead(seconds, IN_MEMORY):+.1%} "
            f"| {overhead(seconds, cpu_of(IN_MEMORY), cpu_of(BARE)):+.1%} "
            f"| {overhead(seconds, WHOLE):+.1%} |"
        )
    counts = list(next(iter(found.values())))
    scaling = [
        f"| records per second | {' | '.join(_ranks(count) for count in counts)} |",
        f"|---{'|---' * len(counts)}|",
    ]
    for task, by_ranks in found.items():
        paces = {
            count: STEPS * BATCH_SIZE * count / median(by_ranks[count][WHOLE]) for count in counts
        }
        cells = [f"{pace:,.0f} ({pace / paces[counts[0]]:.2f} x)" for pace in paces.values()]
        scaling.append(f"| {task} | {' | '.join(cells)} |")
    where = (
        f"{os.cpu_count()} processors, torch {metadata.version('torch')}; load average "
        f"{loads[0]:.1f} before and {loads[-1]:.1f} at the end, which other work on the machine "
        "adds to."
    )
    return "\n".join([*overheads, "", *scaling, "", where]) + "\n"


def _ranks(count: int) -> str:
    return f"{count} rank" if count == 1 else f"{count} ranks"


def as_json(found: Found, loads: Sequence[float]) -> dict[str, Any]:
    """All that was measured."""
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "python": platform.python_version(),
        "torch": metadata.version("torch"),
        "load_averages": list(loads),
        "steps_per_epoch": STEPS,
        "batch_size": BATCH_SIZE,
        "seconds_per_epoch": found,
    }


def publish(found: Found, loads: Sequence[float], *, page: Path, results: Path) -> None:
    """Write the tables into a page between its markers, and all seconds into a JSON file."""
    results.write_text(json.dumps(as_json(found, loads), indent=1) + "\n", encoding="utf-8")
    replace_between(page, MARKERS, tables(found, loads))
