"""The entry point of the training images, PID 1 of each host: `python -m training.launch pytorch`.

It turns SageMaker's contract into one static torchrun per host: it finds the hosts and the
devices, starts a rank per device, passes a stop signal on, and says in the failure file why a job
failed. It imports nothing beyond the standard library, so that it is up at once.
"""

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.contract.failure import write_failure
from training.contract.hyperparameters import PROGRAM, read_hyperparameters
from training.contract.layout import PEERS_VARIABLE
from training.contract.paths import ContainerPaths
from training.launcher.devices import Devices, find_devices
from training.launcher.diagnosis import LOGS_FOLDER, collect, explain
from training.launcher.environment import import_path, toolkit_variables, torch_variables
from training.launcher.model import clear_model, has_model
from training.launcher.peers import (
    Rendezvous,
    named_rendezvous,
    simulated_rendezvous,
    wait_for_names,
)
from training.launcher.program import CODE_ROOT, rank_command
from training.launcher.stop import StopSignal
from training.launcher.supervision import adopt_orphans, supervise

_LOG = logging.getLogger(__name__)
# Of the 120 seconds that SageMaker leaves between SIGTERM and SIGKILL.
_SHUTDOWN_S = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What one host is to do."""

    cluster: Cluster
    devices: Devices
    command: list[str]
    """torchrun's arguments for the script or module."""
    own_trainer: bool
    """False: a script of the user's runs."""
    environment: dict[str, str]


def main(arguments: Sequence[str]) -> int:
    """Run this host's part of a training job.

    Args:
        arguments: the framework's name.

    Returns:
        0 when the training ended well and the chief has a model; otherwise 1..255, and the
        failure file says why. A stop signal gives 128 + its number, whatever the ranks made of it.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    stop = StopSignal()
    stop.install()
    adopt_orphans()
    paths = ContainerPaths.from_environment()
    try:
        exit_code, failure = _run(paths, arguments, stop)
    except ContractError as error:
        exit_code, failure = 1, str(error)
    except Exception as error:
        write_failure(paths, f"The launcher itself failed: {type(error).__name__}: {error}")
        raise
    if failure is not None:
        write_failure(paths, failure)
        _LOG.error("Failed: %s", failure)
    return exit_code


def _run(
    paths: ContainerPaths, arguments: Sequence[str], stop: StopSignal
) -> tuple[int, str | None]:
    """Run the job.

    Returns:
        The exit code, and why it is not 0.
    """
    job = _read_job(paths, arguments)
    host = job.cluster.current_host
    rendezvous = _find_peers(job.cluster, stop)
    with tempfile.TemporaryDirectory(prefix="evenshard-") as folder:
        scratch = Path(folder)
        command = _torchrun(job, rendezvous, scratch)
        _announce(job, rendezvous)
        exit_code = supervise(command, job.environment, stop) if stop.received is None else 0
        evidence = collect(scratch)
    if stop.received is not None:
        if job.own_trainer:
            clear_model(paths)
        return _stopped(host, stop.received)
    if exit_code != 0:
        first_rank = job.cluster.host_rank * job.devices.count
        why = explain(evidence, host=host, first_rank=first_rank, exit_code=exit_code)
        return (exit_code if exit_code > 0 else 128 - exit_code), why
    if job.cluster.is_chief and not has_model(paths):
        return 1, (
            f"{host}: the training ended without a model, {paths.model_dir} is empty. Have global "
            "rank 0 write the model to the folder that SM_MODEL_DIR names."
        )
    return 0, None


def _read_job(paths: ContainerPaths, arguments: Sequence[str]) -> _Job:
    if len(arguments) != 1:
        raise ContractError(
            f"training.launch got the arguments {list(arguments)}. Give one, the framework: "
            "python -m training.launch pytorch"
        )
    cluster = Cluster.from_file(paths.resource_config_file)
    hyperparameters = read_hyperparameters(paths.hyperparameters_file)
    devices = find_devices(os.environ)
    defaults = torch_variables(cluster, devices, simulated=PEERS_VARIABLE in os.environ)
    return _Job(
        cluster=cluster,
        devices=devices,
        command=rank_command(arguments[0], hyperparameters),
        own_trainer=PROGRAM not in hyperparameters,
        environment={
            **defaults,
            **os.environ,
            **toolkit_variables(paths, cluster, hyperparameters, devices),
            "PYTHONPATH": import_path(CODE_ROOT, os.environ),
        },
    )


def _find_peers(cluster: Cluster, stop: StopSignal) -> Rendezvous:
    peers = os.environ.get(PEERS_VARIABLE)
    if peers is not None:
        return simulated_rendezvous(cluster, peers)
    _LOG.info("%s: waiting for the names of %d hosts", cluster.current_host, len(cluster.hosts))
    wait_for_names(cluster.hosts, stopped=lambda: stop.received is not None)
    return named_rendezvous(cluster)


def _torchrun(job: _Job, rendezvous: Rendezvous, scratch: Path) -> list[str]:
    options = {
        "nnodes": len(job.cluster.hosts),
        "node-rank": job.cluster.host_rank,
        "nproc-per-node": job.devices.count,
        "master-addr": rendezvous.chief_address,
        "master-port": rendezvous.chief_port,
        "local-addr": rendezvous.local_address,
        # A restart on one host alone cannot rejoin the others: SageMaker restarts whole jobs.
        "max-restarts": 0,
        "shutdown-timeout": _SHUTDOWN_S,
        "log-dir": scratch / LOGS_FOLDER,
    }
    return [
        *(sys.executable, "-m", "training.launcher.agent", str(scratch)),
        *(f"--{name}={value}" for name, value in options.items()),
        *job.command,
    ]


def _announce(job: _Job, rendezvous: Rendezvous) -> None:
    cluster, count = job.cluster, job.devices.count
    first = cluster.host_rank * count
    _LOG.info(
        "%s: host %d of %d, ranks %d..%d of %d on %s, chief at %s:%d",
        cluster.current_host,
        cluster.host_rank + 1,
        len(cluster.hosts),
        first,
        first + count - 1,
        count * len(cluster.hosts),
        "GPUs" if job.devices.gpus else "processors",
        rendezvous.chief_address,
        rendezvous.chief_port,
    )


def _stopped(host: str, received: signal.Signals) -> tuple[int, str]:
    why = f"{host}: stopped by {received.name} before the training was done. There is no model."
    return 128 + received, why


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
