"""A run as tables in Markdown."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from benchmarks.records import contenders
from benchmarks.records.contenders import BY_NAME
from benchmarks.records.data import BYTES_PER_LINE
from benchmarks.records.goals import RATE, Goal, goals_of
from benchmarks.records.jobs import Job
from benchmarks.records.plan import GRADIENT_BATCH_SIZE
from benchmarks.records.results import Results, Values

POLICIES: Final = {
    "weight": "all steps, weight 0 when out of records (ours)",
    "drop": "as many steps as the shortest rank",
    "join": "DDP Join",
}

GOALS_MARKERS: Final = ("<!-- goals begin -->\n", "<!-- goals end -->\n")
"""Between them, docs/data-layer.md has the goals."""
RATES_MARKERS: Final = ("<!-- rates begin -->\n", "<!-- rates end -->\n")
"""Between them, the README has the rates of lines."""
SUMMARY_BATCH_SIZE: Final = 1024
_RECORDS: Final = frozenset({"str", "tf.string", "arrow", "uint8 + offsets"})
"""What loaders of lines yield that keep them as they are: no counts, no tensors."""

CUT_OFF: Final = (
    "\\* In some pass the epoch was cut off, a few seconds after its first batch, and the rate"
    " reached taken for the rest of it."
)


def write_tables(results: Results) -> str:
    """Write everything that was measured."""
    sections = (
        ("Goals", _goals(goals_of(results))),
        ("Loaders", _rates(results)),
        ("Wait per step behind a device step of 2 ms, B=32", _waits(results)),
        ("Peak memory of an epoch", _memory(results)),
        ("Shuffle spread within a batch (1 = uniform)", _spreads(results)),
        ("Gradient of one epoch on shards of 1,000 and 1,901 records", _gradients(results)),
        ("Training loop, two ranks", _loops(results)),
    )
    written = [f"### {title}\n\n" + "\n".join(rows) for title, rows in sections if len(rows) > 2]  # noqa: PLR2004 - a head without rows has two lines
    if any(not _complete(results, key) for key in results.passes):
        written.append(CUT_OFF)
    errors = [
        f"- {key}: {result['error']}"
        for key, passes in results.passes.items()
        for result in passes
        if "error" in result
    ]
    if errors:
        written.append("### Failed\n\n" + "\n".join(errors))
    return "\n\n".join(written) + "\n"


def write_goals(results: Results) -> str:
    """Write what was asked and what was reached."""
    rows = [
        (goal.what, goal.asked, goal.got if goal.passed else f"{goal.got} (missed)")
        for goal in goals_of(results)
    ]
    return "\n".join(_table(("what", "goal", "reached"), rows)) + "\n"


def write_summary(results: Results) -> str:
    """Write the rates of loaders of lines without worker processes, the fastest first."""
    rated = [
        (rate.median, key, BY_NAME[job.contender])
        for key, job in results.jobs.items()
        if (job.measure, job.batch_size, job.workers) == ("rate", SUMMARY_BATCH_SIZE, 0)
        and (rate := results.values(key, RATE))
    ]
    rows = [
        (
            contender.name,
            contender.yields,
            contender.order,
            _count(rate),
            _metric(results, key, "peak_rss_mib", "{:.0f} MiB"),
        )
        for rate, key, contender in sorted(rated, key=itemgetter(0), reverse=True)
        if contender.kind == "lines" and contender.yields in _RECORDS
    ]
    return "\n".join(_table(("loader", "yields", "shuffled", "records/s", "peak RSS"), rows)) + "\n"


def _goals(goals: Sequence[Goal]) -> list[str]:
    rows = [
        (goal.what, goal.asked, goal.got, _percent(goal.reached), "pass" if goal.passed else "MISS")
        for goal in goals
    ]
    return _table(("goal", "asked", "reached", "+-", ""), rows)


def _rates(results: Results) -> list[str]:
    raw = results.of("rate", contenders.RAW, RATE)
    return _table(
        (
            "data",
            "loader",
            "yields",
            "shuffled",
            "W",
            "B",
            "records/s",
            "+-",
            "% of raw",
            "CPU per record",
            "first batch",
            "peak RSS",
        ),
        _rate_rows(results, raw),
    )


def _rate_rows(results: Results, raw: Values | None) -> Iterator[Sequence[str]]:
    for key, job in results.jobs.items():
        rate = results.values(key, RATE)
        if job.measure != "rate" or not rate:
            continue
        contender = BY_NAME[job.contender]
        share = f"{(rate / raw).median * 100:.1f}" if raw and contender.kind == "lines" else ""
        yield (
            contender.kind.replace("_", " "),
            contender.name,
            contender.yields,
            contender.order,
            str(job.workers),
            str(job.batch_size),
            _count(rate.median) + ("" if _complete(results, key) else " \\*"),
            _percent(rate),
            share,
            # Of worker processes nothing is known.
            "" if job.workers else _metric(results, key, "cpu_us_per_record", "{:.2f} us"),
            _metric(results, key, "first_batch_s", "{:.3f} s"),
            _metric(results, key, "peak_rss_mib", "{:.0f} MiB"),
        )


def _complete(results: Results, key: str) -> bool:
    return all(result.get("complete", True) for result in results.passes[key])


def _waits(results: Results) -> list[str]:
    rows = [
        (
            job.contender,
            str(job.workers),
            _metric(results, key, "p50_ms", "{:.3f} ms"),
            _metric(results, key, "p99_ms", "{:.3f} ms"),
        )
        for key, job in results.jobs.items()
        if job.measure == "wait"
    ]
    return _table(("loader", "W", "p50", "p99"), rows)


def _memory(results: Results) -> list[str]:
    rows = [
        (
            job.contender,
            f"{job.records * BYTES_PER_LINE / 1e9:.2g} GB",
            _metric(results, key, "peak_rss_mib", "{:.1f} MiB"),
        )
        for key, job in results.jobs.items()
        if job.measure == "memory"
    ]
    return _table(("loader", "data", "peak RSS"), rows)


def _spreads(results: Results) -> list[str]:
    rows = [
        (
            BY_NAME[job.contender].kind.replace("_", " "),
            job.contender,
            BY_NAME[job.contender].order,
            _metric(results, key, "spread", "{:.3f}"),
        )
        for key, job in results.jobs.items()
        if job.measure == "spread"
    ]
    return _table(("data", "loader", "shuffled", "spread"), rows)


def _gradients(results: Results) -> list[str]:
    key = Job(measure="gradients", batch_size=GRADIENT_BATCH_SIZE).key
    rows = [
        (
            description,
            _metric(results, key, f"{policy}_used", "{:.0%}"),
            _metric(results, key, policy, "{:.2e}"),
        )
        for policy, description in POLICIES.items()
        if results.values(key, policy)
    ]
    return _table(("policy", "records used", "error against one process in float64"), rows)


def _loops(results: Results) -> list[str]:
    rows = [
        (
            str(job.batch_size),
            _metric(results, key, "step_ms", "{:.1f} ms"),
            _metric(results, key, "in_memory_per_second", "{:,.0f}"),
            _metric(results, key, "ours_per_second", "{:,.0f}"),
            _metric(results, key, "overhead", "{:.1%}"),
        )
        for key, job in results.jobs.items()
        if job.measure == "loop"
    ]
    return _table(("B", "step", "records/s, tensors in memory", "ours", "longer"), rows)


def _table(
    head: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]
) -> list[str]:
    lines = (head, ["---"] * len(head), *rows)
    return ["| " + " | ".join(line) + " |" for line in lines]


def _metric(results: Results, key: str, metric: str, form: str) -> str:
    values = results.values(key, metric)
    return form.format(values.median) if values else "failed"


def _percent(values: Values) -> str:
    return f"{values.noise * 100:.0f} %" if len(values.values) > 1 else ""


def _count(number: float) -> str:
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{letter}"
    return f"{number:.3g}"
