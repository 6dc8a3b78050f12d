"""What the usual advice about ShardedByS3Key does in TensorFlow, shown by two real workers.

Should a test fail, the advice has become right in that point, and what the documentation says
about it is to be changed.
"""

import json
from typing import Any

import pytest

from evenshard.simulator.cluster.network import free_ports
from tests.simulation.bare import run_bare

pytestmark = pytest.mark.timeout(200)  # TensorFlow starts twice; two noisy cores

SHARDS = (
    {"a.txt": ["apple both", "ant", "apple", "both"], "b.txt": ["ab", "ac"]},
    {"c.txt": ["zebra both", "zebra", "both", "zebu"]},
)
HOST_LINES = [[line for lines in shards.values() for line in lines] for shards in SHARDS]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """All attempts in one process per host: most of the time goes into starting TensorFlow."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(len(SHARDS))]
    environments = []
    for index, shards in enumerate(SHARDS):
        channel = tmp_path_factory.mktemp(f"host-{index}")
        for name, lines in shards.items():
            (channel / name).write_text("".join(f"{line}\n" for line in lines))
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": addresses}, "task": task}
        environments.append({"SM_CHANNEL_TRAIN": str(channel), "TF_CONFIG": json.dumps(config)})
    return run_bare("tests/simulation/programs/usual_tensorflow.py", environments)


def test_the_model_as_written_cannot_be_built(workers: list[dict[str, Any]]) -> None:
    for worker in workers:
        assert "Shapes used to initialize variables must be fully-defined" in worker["as_written"]


def test_lines_without_labels_cannot_be_fitted(workers: list[dict[str, Any]]) -> None:
    for worker in workers:
        assert "None values not supported" in worker["without_labels"]


def test_a_vectorizer_that_was_never_adapted_has_no_table(workers: list[dict[str, Any]]) -> None:
    for worker in workers:
        assert "Table not initialized" in worker["without_adapting"]


def test_one_that_is_adapted_on_each_host_numbers_words_differently(
    workers: list[dict[str, Any]],
) -> None:
    # apple, both, zebra: even the word that both hosts know has two numbers.
    assert [worker["ids"] for worker in workers] == [[3, 2, 1], [1, 3, 2]]


def test_without_a_strategy_hosts_train_unrelated_models(workers: list[dict[str, Any]]) -> None:
    alone = [worker["without_strategy"] for worker in workers]
    assert [report["records"] for report in alone] == [6, 4]
    # Both began with 1; one followed texts of 4 characters on average, the other those of 6.
    assert 1 < alone[0]["weight"] < alone[1]["weight"] - 0.5


def test_auto_shard_splits_what_is_only_this_hosts(workers: list[dict[str, Any]]) -> None:
    # Every second file of each host: of the host with one file, the second worker gets nothing.
    assert [worker["sharded_again"] for worker in workers] == [SHARDS[0]["a.txt"], []]
    assert [worker["not_sharded_again"] for worker in workers] == HOST_LINES


def test_fit_does_not_work_on_several_workers(workers: list[dict[str, Any]]) -> None:
    for worker in workers:
        failures = worker["fit"], worker["fit_when_built"]
        assert all(failures), "fit works now: look at the decision on model.fit again"
        assert "PerReplica" in failures[0]
        assert "Invalid reduction dimension 0 for input with 0 dimensions" in failures[1]
