"""The environment of the ranks: what SageMaker's training toolkit would set, and what all need.

The platform sets no SM_* variable (docs/facts.md 4); scripts written for the toolkit read them.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.contract.cluster import Cluster
from training.contract.json_files import read_object
from training.contract.layout import GPU_COUNT_VARIABLE
from training.contract.paths import ContainerPaths
from training.launcher.devices import Devices
from training.launcher.program import script_arguments


def toolkit_variables(
    paths: ContainerPaths,
    cluster: Cluster,
    hyperparameters: Mapping[str, str],
    devices: Devices,
) -> dict[str, str]:
    """The SM_* variables.

    Args:
        paths: of this container.
        cluster: of this job.
        hyperparameters: decoded strings; SM_HPS holds numbers and booleans as such.
        devices: of this host; SM_NUM_GPUS counts GPUs, so it is 0 on processors.
    """
    channels = _channels(paths)
    typed = {name: _typed(value) for name, value in hyperparameters.items()}
    variables = {
        "SM_CHANNELS": json.dumps(sorted(channels)),
        "SM_CURRENT_HOST": cluster.current_host,
        "SM_HOSTS": json.dumps(cluster.hosts),
        "SM_HPS": json.dumps(typed),
        "SM_INPUT_CONFIG_DIR": str(paths.resource_config_file.parent),
        "SM_INPUT_DATA_CONFIG": json.dumps(channels),
        "SM_INPUT_DIR": str(paths.input_dir),
        "SM_MODEL_DIR": str(paths.model_dir),
        "SM_NETWORK_INTERFACE_NAME": cluster.network_interface_name,
        "SM_NUM_CPUS": str(core_count()),
        GPU_COUNT_VARIABLE: str(devices.gpus),
        "SM_OUTPUT_DATA_DIR": str(paths.output_data_dir),
        "SM_OUTPUT_DIR": str(paths.output_dir),
        "SM_OUTPUT_INTERMEDIATE_DIR": str(paths.output_dir / "intermediate"),
        "SM_RESOURCE_CONFIG": json.dumps(read_object(paths.resource_config_file)),
        "SM_USER_ARGS": json.dumps(script_arguments(hyperparameters)),
    }
    for name in channels:
        variables[f"SM_CHANNEL_{name.upper()}"] = str(paths.channel(name))
    for name, value in hyperparameters.items():
        variables[f"SM_HP_{name.upper()}"] = value
    if cluster.instance_type is not None:
        variables["SM_CURRENT_INSTANCE_TYPE"] = cluster.instance_type
    if cluster.instance_group is not None:
        variables["SM_CURRENT_INSTANCE_GROUP"] = cluster.instance_group
    return variables


def rank_variables(cluster: Cluster, devices: Devices, threads: int) -> dict[str, str]:
    """What ranks of any framework need.

    Args:
        cluster: names the network interface.
        devices: of this host.
        threads: of each rank.
    """
    variables = {
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": cluster.network_interface_name,
        "OMP_NUM_THREADS": str(threads),
        "PYTHONUNBUFFERED": "1",
    }
    if devices.gpus == 0:
        # Ranks that were counted without GPUs must not share one that happens to be there.
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables


def import_path(code_root: Path, environment: Mapping[str, str]) -> str:
    """PYTHONPATH with the folder of the `training` package first, wherever the ranks start."""
    given = environment.get("PYTHONPATH")
    return os.pathsep.join([str(code_root), *([given] if given else [])])


def thread_count(devices: Devices, *, simulated: bool) -> int:
    """The threads that each rank may run.

    Args:
        devices: of this host, which share its cores.
        simulated: whether other hosts share this machine.
    """
    return 1 if simulated else max(core_count() // devices.count, 1)


def core_count() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _channels(paths: ContainerPaths) -> dict[str, Any]:
    file = paths.input_data_config_file
    return read_object(file) if file.exists() else {}


def _typed(value: str) -> Any:  # noqa: ANN401 (whatever JSON holds)
    try:
        return json.loads(value)
    except ValueError:
        return value
