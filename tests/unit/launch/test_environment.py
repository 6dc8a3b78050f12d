import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from training.contract.cluster import Cluster
from training.contract.paths import ContainerPaths
from training.launcher.devices import Devices
from training.launcher.environment import (
    core_count,
    import_path,
    rank_variables,
    thread_count,
    toolkit_variables,
)
from training.launcher.torchrun import torch_variables

CLUSTER = Cluster(hosts=("algo-1", "algo-2"), current_host="algo-2", network_interface_name="ethwe")
PROCESSORS = Devices(count=2, gpus=0)
GPUS = Devices(count=4, gpus=4)


@pytest.fixture
def paths(tmp_path: Path) -> ContainerPaths:
    paths = ContainerPaths(tmp_path)
    paths.resource_config_file.parent.mkdir(parents=True)
    paths.resource_config_file.write_text('{"current_host": "algo-2"}')
    channels = {"train": {"S3DistributionType": "ShardedByS3Key"}, "my-extra": {}}
    paths.input_data_config_file.write_text(json.dumps(channels))
    return paths


def test_what_the_toolkit_would_set(paths: ContainerPaths) -> None:
    hyperparameters = {"epochs": "3", "optimizer": "adam", "nesterov": "true"}
    variables = toolkit_variables(paths, CLUSTER, hyperparameters, GPUS)
    base = str(paths.base_dir)
    assert json.loads(variables["SM_HOSTS"]) == ["algo-1", "algo-2"]
    assert variables["SM_CURRENT_HOST"] == "algo-2"
    assert variables["SM_NUM_GPUS"] == "4"
    assert json.loads(variables["SM_CHANNELS"]) == ["my-extra", "train"]
    assert variables["SM_CHANNEL_TRAIN"] == f"{base}/input/data/train"
    assert variables["SM_CHANNEL_MY-EXTRA"] == f"{base}/input/data/my-extra"
    assert variables["SM_MODEL_DIR"] == f"{base}/model"
    assert variables["SM_INPUT_DIR"] == f"{base}/input"
    assert variables["SM_OUTPUT_DIR"] == f"{base}/output"
    assert variables["SM_OUTPUT_DATA_DIR"] == f"{base}/output/data"
    assert variables["SM_NETWORK_INTERFACE_NAME"] == "ethwe"
    assert json.loads(variables["SM_HPS"]) == {
        "epochs": 3,
        "optimizer": "adam",
        "nesterov": True,
    }
    assert variables["SM_HP_EPOCHS"] == "3"
    assert variables["SM_HP_OPTIMIZER"] == "adam"
    assert json.loads(variables["SM_RESOURCE_CONFIG"]) == {"current_host": "algo-2"}


def test_what_is_not_known_is_not_set(paths: ContainerPaths) -> None:
    variables = toolkit_variables(paths, CLUSTER, {}, PROCESSORS)
    assert "SM_CURRENT_INSTANCE_TYPE" not in variables
    assert variables["SM_NUM_GPUS"] == "0"
    known = replace(CLUSTER, instance_type="ml.g5.xlarge", instance_group="workers")
    variables = toolkit_variables(paths, known, {}, PROCESSORS)
    assert variables["SM_CURRENT_INSTANCE_TYPE"] == "ml.g5.xlarge"
    assert variables["SM_CURRENT_INSTANCE_GROUP"] == "workers"


def test_a_job_without_channels(paths: ContainerPaths) -> None:
    paths.input_data_config_file.unlink()
    assert toolkit_variables(paths, CLUSTER, {}, PROCESSORS)["SM_CHANNELS"] == "[]"


def test_the_interface_is_the_contracts() -> None:
    variables = rank_variables(CLUSTER, GPUS, 2)
    assert variables["NCCL_SOCKET_IFNAME"] == "ethwe"
    assert torch_variables(CLUSTER, 2)["GLOO_SOCKET_IFNAME"] == "ethwe"
    assert variables["OMP_NUM_THREADS"] == "2"
    assert "CUDA_VISIBLE_DEVICES" not in variables


def test_processes_that_were_counted_without_gpus_see_none() -> None:
    assert rank_variables(CLUSTER, PROCESSORS, 1)["CUDA_VISIBLE_DEVICES"] == ""


def test_ranks_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.launcher.environment.core_count", lambda: 48)
    assert thread_count(GPUS, simulated=False) == 12
    assert thread_count(GPUS, simulated=True) == 1
    monkeypatch.setattr("training.launcher.environment.core_count", lambda: 1)
    assert thread_count(GPUS, simulated=False) == 1


def test_core_count() -> None:
    assert 1 <= core_count() <= (os.cpu_count() or 1)


def test_the_code_comes_first_on_the_import_path() -> None:
    assert import_path(Path("/code"), {}) == "/code"
    assert import_path(Path("/code"), {"PYTHONPATH": "/mine"}) == f"/code{os.pathsep}/mine"
