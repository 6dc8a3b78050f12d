"""TensorFlow's ranks: one worker process per device, which TF_CONFIG tells of all the others.

A worker without a GPU has one device, whatever the host has; with one worker per device, ranks,
partition and batch size mean the same as under torchrun. Source: docs/facts.md 5.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from training.contract.cluster import Cluster
from training.contract.layout import TENSORFLOW, WORKER_PORT
from training.launcher.framework import Framework
from training.launcher.job import HostJob
from training.launcher.peers import Endpoint, Rendezvous


def tensorflow_variables(_cluster: Cluster, threads: int) -> dict[str, str]:
    """What TensorFlow needs.

    Args:
        threads: of each rank.
    """
    return {
        "KERAS_BACKEND": "tensorflow",
        # Below fatal errors, the C++ side only repeats what the exception says.
        "TF_CPP_MIN_LOG_LEVEL": "3",
        # These operations round differently on different processors, and say so at every start.
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_NUM_INTEROP_THREADS": str(threads),
        "TF_NUM_INTRAOP_THREADS": str(threads),
    }


def workers_command(job: HostJob, rendezvous: Rendezvous, scratch: Path) -> list[str]:
    """The command line of the agent that starts the workers of this host."""
    variables = [
        _worker_variables(job, rendezvous.endpoints, local_rank)
        for local_rank in range(job.devices.count)
    ]
    agent = (sys.executable, "-m", "training.launcher.workers")
    return [*agent, str(scratch), json.dumps(variables), *job.command]


def _worker_variables(
    job: HostJob, endpoints: Sequence[Endpoint], local_rank: int
) -> dict[str, str]:
    """What distinguishes one worker. Ranks go by the names that torchrun gives them, too."""
    rank = job.first_rank + local_rank
    cluster = {"worker": [str(endpoint) for endpoint in endpoints]}
    variables = {
        "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}}),
        "RANK": str(rank),
        "WORLD_SIZE": str(job.world_size),
        "LOCAL_RANK": str(local_rank),
        "LOCAL_WORLD_SIZE": str(job.devices.count),
    }
    if job.devices.gpus:
        variables["CUDA_VISIBLE_DEVICES"] = str(local_rank)
    return variables


TENSORFLOW_WORKERS: Final = Framework(
    name=TENSORFLOW,
    first_port=WORKER_PORT,
    variables=tensorflow_variables,
    agent=workers_command,
    exception_advice="let the program raise an exception",
)
