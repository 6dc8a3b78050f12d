"""PyTorch's ranks: one static torchrun per host. Source: docs/facts.md 5."""

import sys
from pathlib import Path
from typing import Final

from training.contract.cluster import Cluster
from training.contract.layout import MASTER_PORT, PYTORCH
from training.launcher.diagnosis import LOGS_FOLDER
from training.launcher.framework import SHUTDOWN_S, Framework
from training.launcher.job import HostJob
from training.launcher.peers import Rendezvous


def torch_variables(cluster: Cluster, _threads: int) -> dict[str, str]:
    """What torch and gloo need.

    Args:
        cluster: names the network interface.
    """
    return {
        "GLOO_SOCKET_IFNAME": cluster.network_interface_name,
        # Below errors, torch's C++ side only remarks on host names and sockets.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }


def torchrun_command(job: HostJob, rendezvous: Rendezvous, scratch: Path) -> list[str]:
    """The command line of torchrun, under `agent`."""
    options = {
        "nnodes": len(job.cluster.hosts),
        "node-rank": job.cluster.host_rank,
        "nproc-per-node": job.devices.count,
        "master-addr": rendezvous.chief.address,
        "master-port": rendezvous.chief.port,
        "local-addr": rendezvous.local.address,
        # A restart on one host alone cannot rejoin the others: SageMaker restarts whole jobs.
        "max-restarts": 0,
        "shutdown-timeout": SHUTDOWN_S,
        "log-dir": scratch / LOGS_FOLDER,
    }
    return [
        *(sys.executable, "-m", "training.launcher.agent", str(scratch)),
        *(f"--{name}={value}" for name, value in options.items()),
        *job.command,
    ]


TORCHRUN: Final = Framework(
    name=PYTORCH,
    first_port=MASTER_PORT,
    variables=torch_variables,
    agent=torchrun_command,
    exception_advice=(
        "decorate the program's main function with `record` of "
        "torch.distributed.elastic.multiprocessing.errors"
    ),
)
