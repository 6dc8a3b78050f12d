"""Measure the data layer against other loaders: `make bench-records`.

The same with options: python -m benchmarks.records --quick --only lines,wait

Sections may be run one by one, each with the peers alone that it measures: what was measured
before on the same data stays in the results.

Every measurement runs in a process of its own. The passes are interleaved: each runs every
measurement once, so that what slows the machine down for a while touches all of them; ratios are
taken within a pass. Writes results.json, tables.md and plot.png and, with --out docs/benchmarks,
the goals into docs/data-layer.md and the rates of lines into the README.
"""

import argparse
import importlib
import importlib.util
import json
import os
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.pages import replace_between
from benchmarks.records.data import Data, make_data, memory_data, read_into_cache
from benchmarks.records.goals import goals_of
from benchmarks.records.jobs import ROOT, Job, run
from benchmarks.records.plan import FULL, ONCE, QUICK, SECTIONS, conversions, jobs_of
from benchmarks.records.report import (
    GOALS_MARKERS,
    RATES_MARKERS,
    write_goals,
    write_summary,
    write_tables,
)
from benchmarks.records.results import Results

FOLDER = ROOT / ".evenshard" / "bench-records"
PUBLISHED = ROOT / "docs" / "benchmarks"
"""Results that are written there go into docs/data-layer.md and the README, too."""
RESULTS = "results.json"
FULL_MEGABYTES, QUICK_MEGABYTES = 400, 40
BUSY = 0.7
"""Load of the machine before a run from which on its figures are worth a warning."""


def main() -> None:
    """Measure, and write what was measured."""
    arguments = _parse()
    chosen = QUICK if arguments.quick else FULL
    effort = replace(chosen, passes=arguments.passes or chosen.passes)
    if os.getloadavg()[0] > BUSY:
        print(f"The machine is busy (load {os.getloadavg()[0]:.1f}): expect noise.")
    megabytes = arguments.megabytes or (QUICK_MEGABYTES if arguments.quick else FULL_MEGABYTES)
    data = _prepare(arguments.data, megabytes, arguments.only)
    results = _earlier(arguments.out, data)
    everything = jobs_of(data, arguments.only, effort)
    if not arguments.append:
        results.forget(everything)
    if not results.passes:
        results.loads.clear()
    before = results.passes_of(everything)
    with memory_data(data) if "memory" in arguments.only else nullcontext():
        for number in range(before, before + effort.passes):
            results.note_load()
            read_into_cache(data)
            jobs = jobs_of(data, arguments.only, effort.in_pass(number))
            _measure(results, jobs, number, before + effort.passes)
            _write(results, data, arguments.out)
    print(write_tables(results))
    print(f"Load averages: {results.loads}. Files: {arguments.out}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one pass over little data")
    parser.add_argument(
        "--only",
        type=_sections,
        default=tuple(SECTIONS),
        metavar="SECTION,...",
        help=f"some of {', '.join(SECTIONS)}",
    )
    parser.add_argument("--passes", type=int, help="interleaved passes; 3, or 1 with --quick")
    parser.add_argument(
        "--append", action="store_true", help="keep earlier passes of the same sections"
    )
    parser.add_argument("--megabytes", type=int, help="of lines; 400, or 40 with --quick")
    parser.add_argument("--data", type=Path, default=FOLDER / "data", help="where data is kept")
    parser.add_argument("--out", type=Path, default=FOLDER / "results", help="where results go")
    return parser.parse_args()


def _sections(given: str) -> tuple[str, ...]:
    names = tuple(given.split(","))
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"{', '.join(unknown)}: choose some of {', '.join(SECTIONS)}"
        )
    return names


def _prepare(root: Path, megabytes: int, sections: tuple[str, ...]) -> Data:
    print(f"Data: {megabytes} MB of lines and what is made of them, below {root}", flush=True)
    data = make_data(root, megabytes)
    for job in conversions(data, sections):
        converted = run(job)
        if "error" in converted:
            raise SystemExit(f"The peers' data could not be prepared: {converted['error']}")
    return data


def _earlier(folder: Path, data: Data) -> Results:
    """Read what was measured before on the same data: sections may be run one by one."""
    path = folder / RESULTS
    if not path.exists():
        return Results()
    written = json.loads(path.read_text(encoding="utf-8"))
    return Results.from_json(written) if written["records"] == asdict(data.sizes) else Results()


def _measure(results: Results, jobs: list[Job], number: int, passes: int) -> None:
    for job in jobs:
        if job.measure in ONCE and number:
            continue
        result = run(job)
        results.add(job, result)
        shown = " ".join(
            f"{name}={value:.4g}" for name, value in result.items() if isinstance(value, float)
        )
        print(f"[{number + 1}/{passes}] {job.key}: {shown or result.get('error')}", flush=True)


def _write(results: Results, data: Data, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tables.md").write_text(write_tables(results), encoding="utf-8")
    goals = [
        {"goal": goal.what, "asked": goal.asked, "reached": goal.got, "passed": goal.passed}
        for goal in goals_of(results)
    ]
    written = {"goals": goals, "records": asdict(data.sizes), **results.as_json()}
    (folder / RESULTS).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if folder.resolve() == PUBLISHED:
        replace_between(PUBLISHED.parent / "data-layer.md", GOALS_MARKERS, write_goals(results))
        replace_between(ROOT / "README.md", RATES_MARKERS, write_summary(results))
    if importlib.util.find_spec("matplotlib"):
        importlib.import_module("benchmarks.records.plot").draw(results, folder / "plot.png")


if __name__ == "__main__":
    main()
