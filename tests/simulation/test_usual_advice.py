"""What the usual advice about ShardedByS3Key does in PyTorch, shown by real processes.

Each test says what goes wrong and by how much. Should one fail, the advice has become right in
that point, and what the documentation says about it is to be changed.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.bare import run_bare
from tests.simulation.launched import Job, launch

pytestmark = pytest.mark.timeout(300)  # torch starts in every rank; two noisy cores

PROGRAMS = "tests/simulation/programs"


def launch_usual(
    folder: Path, program: str, shards: list[dict[str, str]], devices_per_host: int
) -> list[dict[str, Any]]:
    """Run a program under our launcher; returns the reports of all ranks."""
    hosts = launch(
        Job(
            folder=folder,
            shards=shards,
            validation="",
            hyperparameters={"program": f"{PROGRAMS}/{program}"},
            devices_per_host=devices_per_host,
        )
    )
    assert [host.exit_code for host in hosts] == [0] * len(shards), [host.log for host in hosts]
    return [
        json.loads(file.read_text())
        for host in hosts
        for file in sorted((host.base_dir / "output" / "data").glob("*.json"))
    ]


@pytest.fixture(scope="module")
def started_bare(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Two hosts with 3 and 2 records, one process each."""
    environments = []
    for host, content in enumerate(("1\n1\n1\n", "-1\n-1\n")):
        channel = tmp_path_factory.mktemp(f"host-{host}")
        (channel / "part.txt").write_text(content)
        # With the address too, which SageMaker's toolkit would set: the rank is still missing.
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        environments.append({"SM_CHANNEL_TRAIN": str(channel), **address})
    return run_bare(f"{PROGRAMS}/usual_start.py", environments)


def test_nothing_initialises_torch_distributed(started_bare: list[dict[str, Any]]) -> None:
    for report in started_bare:
        assert "environment variable RANK expected, but not set" in report["error"]


def test_hosts_without_a_launcher_train_unrelated_models(
    started_bare: list[dict[str, Any]],
) -> None:
    assert [report["records"] for report in started_bare] == [3, 2]
    first, last = ([report[when] for report in started_bare] for when in ("first", "last"))
    assert first[0] == first[1]
    # One was drawn to 1, the other to -1: neither knows of the other's records.
    assert last[0] > first[0] > last[1]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Two hosts with two devices each; 40 and 24 records."""
    shards = [
        {"a.txt": "".join(f"{number}\n" for number in range(40))},
        {"b.txt": "".join(f"{number}\n" for number in range(40, 64))},
    ]
    return launch_usual(tmp_path_factory.mktemp("read"), "usual_reading.py", shards, 2)


def test_every_rank_of_a_host_reads_the_same_files(read: list[dict[str, Any]]) -> None:
    used = Counter(line for report in read for line in report["without_sampler"])
    assert used == {str(number): 2 for number in range(64)}
    assert [len(report["without_sampler"]) for report in read] == [40, 40, 24, 24]


def test_a_distributed_sampler_never_reads_half_of_it(read: list[dict[str, Any]]) -> None:
    used = Counter(line for report in read for line in report["with_sampler"])
    # A quarter of its host's records for each of the four ranks, though only two share them.
    assert [len(report["with_sampler"]) for report in read] == [10, 10, 6, 6]
    assert set(used.values()) == {1}
    assert len(used) == 32


@pytest.fixture(scope="module")
def unequal(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Two hosts with one device each; rank 0 has ten batches per epoch, rank 1 eight."""
    return launch_usual(tmp_path_factory.mktemp("unequal"), "usual_steps.py", [{}, {}], 1)


def test_unequal_steps_wait_in_vain(unequal: list[dict[str, Any]]) -> None:
    longer, shorter = (report["one_epoch"] for report in unequal)
    assert (shorter["steps"], shorter["error"]) == (8, "")
    assert longer["steps"] == 8
    assert "Timed out waiting" in longer["error"]


def test_unequal_steps_mix_gradients_with_metrics_before_anyone_notices(
    unequal: list[dict[str, Any]],
) -> None:
    longer, shorter = (report["with_metric"] for report in unequal)
    right = [1.5, 1.5, 1.5]
    # Rank 1 is through with four epochs and has heard of no error.
    assert (shorter["steps"], shorter["error"]) == (32, "")
    assert shorter["gradients"][:8] == longer["gradients"][:8] == [right] * 8
    # Its first metric was added to rank 0's half of a gradient, and both took the sum for theirs.
    assert shorter["metrics"][0] == longer["gradients"][8] == [90.5, 100.5, 1.5]
    assert [180.0, 200.0, 2.0] not in shorter["metrics"] + longer["metrics"]
    # Rank 0 was in its fourth epoch when it began to wait for a peer that was done.
    assert len(longer["metrics"]) == 3
    assert "Timed out waiting" in longer["error"]
    assert longer["weights"] != shorter["weights"]
