"""A real distributed run that counts: every record once per epoch, one host without any shard."""

from collections import Counter
from pathlib import Path

import pytest

from tests.simulation.launched import Host, Job, launch, lines

pytestmark = pytest.mark.timeout(300)  # torch starts in every rank; two noisy cores

EPOCHS = 2
VALIDATION_RECORDS = 7
SHARD_SIZES = {"a.jsonl": 13, "deep/er/b.jsonl": 1, "c.jsonl": 22}
TRAIN_RECORDS = sum(SHARD_SIZES.values())


def records(kind: str, count: int) -> str:
    return lines(
        [{"id": f"{kind}-{i}", "text": f"word{i} same", "label": i % 2} for i in range(count)]
    )


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    done = launch(
        Job(
            folder=tmp_path_factory.mktemp("counts"),
            shards=({name: records(name, size) for name, size in SHARD_SIZES.items()}, {}),
            validation=records("validation", VALIDATION_RECORDS),
            hyperparameters={
                "program": "tests/simulation/programs/counting.py",
                "epochs": str(EPOCHS),
                "batch_size": "5",
                "hash_buckets": "64",
            },
            environment={"EVENSHARD_DATA_DIGEST": "00ff"},
        )
    )
    assert [host.exit_code for host in done] == [0, 0], [host.log for host in done]
    return done


def ids(base_dir: Path) -> list[str]:
    files = sorted((base_dir / "output" / "data").glob("ids-of-rank-*.txt"))
    return [line for file in files for line in file.read_text().splitlines()]


def test_every_training_record_is_used_once_per_epoch(hosts: list[Host]) -> None:
    used = Counter(ids(hosts[0].base_dir) + ids(hosts[1].base_dir))
    for name, size in SHARD_SIZES.items():
        assert {used.pop(f"{name}-{i}") for i in range(size)} == {EPOCHS}
    assert {used.pop(f"validation-{i}") for i in range(VALIDATION_RECORDS)} == {EPOCHS}
    assert not used


def test_the_host_without_a_shard_only_validates(hosts: list[Host]) -> None:
    assert {name.split("-")[0] for name in ids(hosts[1].base_dir)} == {"validation"}


def test_reports_tell_who_had_what(hosts: list[Host]) -> None:
    reports = [host.data_report() for host in hosts]
    assert [report["records_per_rank"] for report in reports] == [[18, 18], [0, 0]]
    assert [report["records"] for report in reports] == [TRAIN_RECORDS, 0]
    assert [report["steps"] for report in reports] == [4, 4]
    assert [report["data_digest"] for report in reports] == ["00ff", "00ff"]
