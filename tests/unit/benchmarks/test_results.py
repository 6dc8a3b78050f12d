import json
from pathlib import Path

import pytest

from benchmarks.records import contenders
from benchmarks.records.contenders import CONTENDERS, ENCODERS
from benchmarks.records.data import make_data
from benchmarks.records.goals import RATE, goals_of
from benchmarks.records.iteration import rate, spread
from benchmarks.records.jobs import Job
from benchmarks.records.plan import FULL, SECTIONS, conversions, jobs_of
from benchmarks.records.report import (
    GOALS_MARKERS,
    RATES_MARKERS,
    write_goals,
    write_summary,
    write_tables,
)
from benchmarks.records.results import Results, Values
from evenshard.repository import ROOT


def _job(contender: contenders.Contender, measure: str = "rate", batch_size: int = 1024) -> Job:
    return Job(
        measure=measure,
        contender=contender.name,
        folder=f"/data/{contender.kind}",
        batch_size=batch_size,
    )


def _results(rates: dict[str, list[float]]) -> Results:
    results = Results()
    for name, values in rates.items():
        for value in values:
            results.add(_job(contenders.BY_NAME[name]), {RATE: value})
    return results


def test_a_ratio_is_taken_within_each_pass() -> None:
    # The machine was slow in the second pass, for both.
    ratio = Values((300.0, 30.0, 200.0)) / Values((100.0, 10.0, 100.0))
    assert ratio.values == (3.0, 3.0, 2.0)
    assert ratio.median == 3.0
    assert ratio.noise == pytest.approx(1 / 6)


def test_a_value_that_a_pass_lacks_is_no_value() -> None:
    results = Results()
    job = _job(contenders.RAW)
    results.add(job, {RATE: 2.0})
    assert results.values(job.key, RATE) == Values((2.0,))
    results.add(job, {"error": "no memory"})
    assert results.values(job.key, RATE) is None
    assert "no memory" in write_tables(results)


@pytest.mark.parametrize(("packed", "passed"), [(34.0, False), (35.0, True), (36.0, True)])
def test_a_goal_passes_from_its_bound_on(packed: float, passed: bool) -> None:  # noqa: FBT001 - drawn
    results = _results({contenders.RAW.name: [100.0], contenders.OURS_PACKED.name: [packed]})
    (goal,) = goals_of(results)
    assert (goal.what, goal.asked) == ("packed batches against raw", ">= 0.35 x")
    assert goal.passed is passed


def test_a_goal_of_at_most_passes_up_to_its_bound() -> None:
    for milliseconds, passed in ((0.1, True), (0.11, False)):
        results = Results()
        results.add(_job(contenders.OURS_STR, "wait", 32), {"p99_ms": milliseconds})
        assert [goal.passed for goal in goals_of(results)] == [passed]


def test_tar_is_held_against_the_faster_way_of_webdataset() -> None:
    results = _results({contenders.OURS_TAR.name: [70.0]})
    for workers, value in ((0, 10.0), (2, 7.0)):
        job = Job(
            measure="rate", contender=contenders.WEBDATASET.name, folder="tar", workers=workers
        )
        results.add(job, {RATE: value})
    assert [goal.reached.median for goal in goals_of(results)] == [7.0]


def test_results_are_read_back_and_sections_replace_their_own() -> None:
    results = _results({contenders.RAW.name: [1.0, 2.0], contenders.OURS_STR.name: [3.0]})
    again = Results.from_json(json.loads(json.dumps(results.as_json())))
    assert again.passes == results.passes
    assert write_tables(again) == write_tables(results)
    assert again.passes_of([_job(contenders.RAW), _job(contenders.OURS_STR)]) == 2
    again.forget([_job(contenders.RAW)])
    assert list(again.passes) == [_job(contenders.OURS_STR).key]
    assert again.passes_of([_job(contenders.RAW)]) == 0


def test_a_rate_that_was_extrapolated_is_marked() -> None:
    results = _results({contenders.RAW.name: [1e6]})
    assert "\\*" not in write_tables(results)
    results.add(_job(contenders.RAW), {RATE: 1e6, "complete": False})
    table = write_tables(results)
    assert "1M \\*" in table
    assert "\\* In some pass the epoch was cut off" in table


def test_later_passes_leave_out_what_no_goal_asks_for(tmp_path: Path) -> None:
    data = make_data(tmp_path, 1)
    first = {job.key for job in jobs_of(data, SECTIONS, FULL.in_pass(0))}
    later = {job.key for job in jobs_of(data, SECTIONS, FULL.in_pass(1))}
    assert later < first
    assert all("B=32" in key for key in first - later)
    names = {job.contender for job in jobs_of(data, SECTIONS, FULL.in_pass(1)) if job.contender}
    assert names == {contender.name for contender in (*CONTENDERS, *ENCODERS)}


def test_a_section_converts_only_for_its_own_peers(tmp_path: Path) -> None:
    data = make_data(tmp_path, 1)
    assert conversions(data, ["tar", "first", "wait", "memory", "encoder"]) == []
    assert [Path(job.folder).name for job in conversions(data, ["spread", "lines"])] == [
        "lines",
        "json_lines",
        "parquet",
    ]


def test_measures_an_epoch_of_the_data_that_it_makes(tmp_path: Path) -> None:
    data = make_data(tmp_path, 1)
    for contender in (
        contenders.RAW,
        contenders.OURS_STR,
        contenders.OURS_PARQUET_SMALL_GROUPS,
        contenders.OURS_TAR,
    ):
        job = Job(
            measure="rate",
            contender=contender.name,
            folder=str(data.folder(contender.kind)),
            records=data.records(contender.kind),
            batch_size=100,
            cap_s=60.0,
        )
        result = rate(job)
        assert result["complete"]
        assert result["records_per_second"] > 0


def test_spread_tells_a_shuffle_from_the_order_of_the_data(tmp_path: Path) -> None:
    data = make_data(tmp_path, 1)
    job = Job(
        measure="spread",
        contender=contenders.OURS_STR.name,
        folder=str(data.folder("lines")),
        records=data.records("lines"),
        batch_size=64,
        cap_s=60.0,
    )
    # All of it fits into the first windows.
    assert spread(job)["spread"] > 0.7
    unshuffled = spread(
        Job(
            measure="spread",
            contender=contenders.PYARROW_CSV.name,
            folder=job.folder,
            records=job.records,
            batch_size=64,
            cap_s=60.0,
        )
    )
    # 64 of n records in a row.
    assert unshuffled["spread"] == pytest.approx(64 / job.records, rel=0.02)


def test_the_page_has_the_goals_of_the_run_that_is_kept() -> None:
    kept = json.loads((ROOT / "docs" / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "data-layer.md").read_text(encoding="utf-8")
    results = Results.from_json(kept)
    assert f"{GOALS_MARKERS[0]}{write_goals(results)}{GOALS_MARKERS[1]}" in page
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{RATES_MARKERS[0]}{write_summary(results)}{RATES_MARKERS[1]}" in readme
