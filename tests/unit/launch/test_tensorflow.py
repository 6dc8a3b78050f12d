import json
from pathlib import Path

import pytest

from training.contract.cluster import Cluster
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import MASTER_PORT
from training.launcher.devices import Devices
from training.launcher.frameworks import find_framework
from training.launcher.job import HostJob
from training.launcher.peers import named_rendezvous
from training.launcher.tensorflow import TENSORFLOW_WORKERS, tensorflow_variables

CLUSTER = Cluster(hosts=("algo-1", "algo-2"), current_host="algo-2", network_interface_name="eth0")


def workers(gpus: int) -> list[dict[str, str]]:
    """What the agent is told to set for each worker of algo-2."""
    job = HostJob(
        cluster=CLUSTER,
        devices=Devices(count=2, gpus=gpus),
        command=["train.py", "--epochs", "3"],
        own_trainer=False,
        environment={},
        settings=TrainingHyperparameters(),
    )
    framework = find_framework("tensorflow")
    rendezvous = named_rendezvous(CLUSTER, first_port=framework.first_port, ranks_per_host=2)
    command = framework.agent(job, rendezvous, Path("/scratch"))
    assert command[1:4] == ["-m", "training.launcher.workers", "/scratch"]
    assert command[5:] == job.command
    variables: list[dict[str, str]] = json.loads(command[4])
    return variables


def test_every_worker_knows_all_and_its_own_place() -> None:
    configs = [json.loads(worker["TF_CONFIG"]) for worker in workers(gpus=0)]
    all_workers = ["algo-1:8890", "algo-1:8891", "algo-2:8890", "algo-2:8891"]
    assert [config["cluster"] for config in configs] == [{"worker": all_workers}] * 2
    assert [config["task"] for config in configs] == [
        {"type": "worker", "index": 2},
        {"type": "worker", "index": 3},
    ]


def test_ranks_have_the_names_that_torchrun_gives_them() -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    assert [[worker[name] for name in names] for worker in workers(gpus=0)] == [
        ["2", "4", "0", "2"],
        ["3", "4", "1", "2"],
    ]


@pytest.mark.parametrize(("gpus", "visible"), [(2, ["0", "1"]), (0, [None, None])])
def test_every_worker_sees_its_own_gpu(gpus: int, visible: list[str | None]) -> None:
    assert [worker.get("CUDA_VISIBLE_DEVICES") for worker in workers(gpus)] == visible


def test_ranks_share_the_cores() -> None:
    variables = tensorflow_variables(CLUSTER, 3)
    assert variables["TF_NUM_INTRAOP_THREADS"] == variables["TF_NUM_INTEROP_THREADS"] == "3"


def test_the_frameworks_ports_are_apart() -> None:
    # A host with 16 devices listens at as many.
    assert abs(TENSORFLOW_WORKERS.first_port - MASTER_PORT) > 16
