"""The entry point of the training images, PID 1 of each host: `python -m training.launch pytorch`.

It turns SageMaker's contract into ranks: it finds the hosts and the devices, has the framework
start a rank per device, passes a stop signal on, and says in the failure file why a job failed. It
imports nothing beyond the standard library, so that it is up at once.
"""

import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.contract.failure import write_failure
from training.contract.hyperparameters import PROGRAM, parse_launching, parse_training
from training.contract.layout import (
    ATTENDANCE_VARIABLE,
    PEERS_VARIABLE,
    STOPPED_FILE_VARIABLE,
    TOLD_FILE_VARIABLE,
)
from training.contract.parsing import read_hyperparameters
from training.contract.paths import ContainerPaths
from training.contract.stops import read_stop
from training.launcher.company import Company, open_company
from training.launcher.devices import DevicesError, find_devices
from training.launcher.diagnosis import collect, explain
from training.launcher.ending import Ending, ended_after_signal
from training.launcher.environment import (
    import_path,
    rank_variables,
    thread_count,
    toolkit_variables,
)
from training.launcher.framework import Framework
from training.launcher.frameworks import find_framework
from training.launcher.job import HostJob
from training.launcher.judgement import RanksEnd, judge_failure, judge_start, judge_stop
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
from training.launcher.watch import Watch

_LOG = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Run this host's part of a training job.

    Args:
        arguments: the framework's name.

    Returns:
        0 when the training ended well and the chief has a model, or when SIGTERM ended it;
        otherwise 1..255, and the failure file says why.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    stop = StopSignal()
    stop.install()
    adopt_orphans()
    paths = ContainerPaths.from_environment()
    try:
        ending = _run(paths, arguments, stop)
    except ContractError as error:
        ending = Ending(exit_code=1, failure=str(error))
    except Exception as error:
        _leave_word(paths, f"The launcher itself failed: {type(error).__name__}: {error}")
        raise
    if ending.remark is not None:
        _LOG.info("%s", ending.remark)
    if ending.failure is not None:
        _LOG.error("Failed: %s", ending.failure)
        _leave_word(paths, ending.failure)
    return ending.exit_code


def _leave_word(paths: ContainerPaths, why: str) -> None:
    """Write the failure file. Where it cannot be written, the log and the exit code must do."""
    try:
        write_failure(paths, why)
    except OSError as error:
        _LOG.warning("%s cannot be written: %s", paths.failure_file, error)


def _run(paths: ContainerPaths, arguments: Sequence[str], stop: StopSignal) -> Ending:
    """Run the job."""
    framework = find_framework(_framework_name(arguments))
    cluster = Cluster.from_file(paths.resource_config_file)
    try:
        job = _read_job(paths, framework, cluster)
    except DevicesError as error:
        _fail_alone(cluster, stop, str(error))
        raise
    _wait_for_board(cluster, stop)
    if cluster.is_chief and stop.received is not None:
        # There may be no name to keep the board at. Other hosts tell of their stops on it, below.
        return ended_after_signal(cluster.current_host, stop.received, None, None)
    with open_company(cluster) as company:
        rendezvous = _find_peers(job, framework, company, stop)
        company.meet(job.devices.count, stop, job.settings.collective_timeout_s)
        early = judge_start(job, company, stop)
        if early is not None:
            return early
        ranks = _run_ranks(job, framework, rendezvous, company, stop)
        stopped = judge_stop(job, ranks, company, stop)
        if stopped is None and ranks.exit_code == 0:
            return _ended(paths, job)
        if stopped is not None and job.own_trainer:
            # A stop leaves no model, whenever it came.
            clear_model(paths)
        return stopped or judge_failure(job, ranks, company, stop)


def _run_ranks(
    job: HostJob,
    framework: Framework,
    rendezvous: Rendezvous,
    company: Company,
    stop: StopSignal,
) -> RanksEnd:
    """Run this host's ranks to their end."""
    with tempfile.TemporaryDirectory(prefix="evenshard-") as folder:
        scratch = Path(folder)
        stopped, told, marks = scratch / "stopped.json", scratch / "told", scratch / "marks"
        marks.mkdir()
        variables = {
            STOPPED_FILE_VARIABLE: str(stopped),
            TOLD_FILE_VARIABLE: str(told),
            ATTENDANCE_VARIABLE: str(marks),
        }
        watch = Watch(marks, job.ranks, company, job.settings.collective_timeout_s)
        command = framework.agent(job, rendezvous, scratch)
        _announce(job, rendezvous)

        def pass_on() -> None:
            told.touch()
            company.tell_stop()

        environment = {**job.environment, **variables}
        exit_code = supervise(
            command,
            environment,
            stop,
            on_told=pass_on,
            # Ranks without all others come to nothing, and some would wait for ever.
            is_over=lambda: stopped.exists() or company.has_gaps,
            is_lost=watch.has_stall,
        )
        evidence = collect(scratch)
        why = explain(
            evidence,
            host=job.cluster.current_host,
            first_rank=job.first_rank,
            exit_code=exit_code,
            exception_advice=framework.exception_advice,
        )
        return RanksEnd(
            exit_code=exit_code,
            evidence=evidence,
            why=why,
            agreed=read_stop(stopped),
            stall=watch.stall,
        )


def _framework_name(arguments: Sequence[str]) -> str:
    if len(arguments) != 1:
        raise ContractError(
            f"training.launch got the arguments {list(arguments)}. Give one, the framework: "
            "python -m training.launch pytorch"
        )
    return arguments[0]


def _read_job(paths: ContainerPaths, framework: Framework, cluster: Cluster) -> HostJob:
    hyperparameters = read_hyperparameters(paths.hyperparameters_file)
    own = PROGRAM not in hyperparameters
    devices = find_devices(os.environ)
    threads = thread_count(devices, simulated=PEERS_VARIABLE in os.environ)
    return HostJob(
        cluster=cluster,
        devices=devices,
        command=rank_command(framework.name, hyperparameters),
        own_trainer=own,
        environment={
            **rank_variables(cluster, devices, threads),
            **framework.variables(cluster, threads),
            # The job's Environment may say otherwise, but not how many ranks there are.
            **{name: value for name, value in os.environ.items() if not name.startswith("PET_")},
            **toolkit_variables(paths, cluster, hyperparameters, devices),
            "PYTHONPATH": import_path(CODE_ROOT, os.environ),
        },
        settings=(parse_training if own else parse_launching)(hyperparameters),
    )


def _fail_alone(cluster: Cluster, stop: StopSignal, why: str) -> None:
    """Let the other hosts know what is wrong with this one, which they would wait for."""
    # What keeps them from hearing it, on the chief perhaps, is not to stand in its place.
    with suppress(ContractError, OSError):
        _wait_for_board(cluster, stop)
        with open_company(cluster) as company:
            company.tell_failure_early(why)


def _wait_for_board(cluster: Cluster, stop: StopSignal) -> None:
    """Wait until the chief can keep the board at its own name, which may come late, too."""
    if PEERS_VARIABLE in os.environ:
        return
    _LOG.info("%s: waiting for the names of %d hosts", cluster.current_host, len(cluster.hosts))
    if cluster.is_chief:
        wait_for_names([cluster.chief], stopped=lambda: stop.received is not None)


def _find_peers(
    job: HostJob, framework: Framework, company: Company, stop: StopSignal
) -> Rendezvous:
    cluster, count = job.cluster, job.devices.count
    peers = os.environ.get(PEERS_VARIABLE)
    if peers is not None:
        return simulated_rendezvous(cluster, peers, ranks_per_host=count)
    wait_for_names(cluster.hosts, stopped=lambda: company.is_in_vain(stop))
    return named_rendezvous(cluster, first_port=framework.first_port, ranks_per_host=count)


def _announce(job: HostJob, rendezvous: Rendezvous) -> None:
    cluster = job.cluster
    _LOG.info(
        "%s: host %d of %d, ranks %d..%d of %d on %s, chief at %s",
        cluster.current_host,
        cluster.host_rank + 1,
        len(cluster.hosts),
        job.first_rank,
        job.first_rank + job.devices.count - 1,
        job.world_size,
        "GPUs" if job.devices.gpus else "processors",
        rendezvous.chief,
    )


def _ended(paths: ContainerPaths, job: HostJob) -> Ending:
    """What it means for this host that all its ranks ended well."""
    if job.cluster.is_chief and not has_model(paths):
        why = (
            f"{job.cluster.current_host}: the training ended without a model, {paths.model_dir} is "
            "empty. Have global rank 0 write the model to the folder that SM_MODEL_DIR names."
        )
        return Ending(exit_code=1, failure=why)
    return Ending(exit_code=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
