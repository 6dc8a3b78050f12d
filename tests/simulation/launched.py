"""Hosts laid out as SageMaker lays them, and the real launcher run on each: no simulator."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenshard.simulator.cluster.network import free_ports
from training.contract.layout import PYTORCH

CODE_ROOT = Path(__file__).resolve().parents[2]
RUN_LIMIT_S = 200
"""A run that takes longer hangs."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """One host's folder and what became of its launcher."""

    name: str
    base_dir: Path
    exit_code: int
    log: str

    @property
    def failure(self) -> str | None:
        file = self.base_dir / "output" / "failure"
        return file.read_text(encoding="utf-8") if file.exists() else None

    @property
    def model_files(self) -> list[str]:
        return sorted(path.name for path in (self.base_dir / "model").rglob("*"))

    def gloo_threads(self, moment: str) -> list[list[str]]:
        """For each process of a program that uses `gloo_threads`, what it wrote down then."""
        files = (self.base_dir / "output" / "data").glob(f"threads-of-process-*-{moment}.json")
        return [json.loads(file.read_text()) for file in files]

    def data_report(self) -> dict[str, Any]:
        file = self.base_dir / "output" / "data" / self.name / "data.json"
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return report


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training job to be launched."""

    folder: Path
    """Where the hosts' folders are made."""
    shards: Sequence[Mapping[str, str | bytes]]
    """For each host, shard name -> content."""
    validation: str | Mapping[str, str | bytes]
    """Content of the one validation shard, JSON Lines, or shards by name."""
    hyperparameters: Mapping[str, str]
    devices_per_host: int = 2
    code_root: Path = CODE_ROOT
    """Holds the `training` package."""
    environment: Mapping[str, str] = field(default_factory=dict)
    framework: str = PYTORCH
    has_checkpoint_folder: bool = True
    """As SageMaker makes it for a job with a CheckpointConfig."""


def lines(records: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def lay(job: Job) -> list[tuple[str, Path]]:
    """Write every host's folder; returns names and folders."""
    names = [f"algo-{number}" for number in range(1, len(job.shards) + 1)]
    hosts = [(name, job.folder / name) for name in names]
    for (name, base_dir), shards in zip(hosts, job.shards, strict=True):
        config = base_dir / "input" / "config"
        folders: tuple[Path, ...] = (config, base_dir / "model", base_dir / "output" / "data")
        if job.has_checkpoint_folder:
            folders = (*folders, base_dir / "checkpoints")
        for folder in folders:
            folder.mkdir(parents=True)
        resources = {"current_host": name, "hosts": names, "network_interface_name": "lo"}
        channels = {"train": "ShardedByS3Key", "validation": "FullyReplicated"}
        (config / "resourceconfig.json").write_text(json.dumps(resources))
        (config / "hyperparameters.json").write_text(json.dumps(dict(job.hyperparameters)))
        (config / "inputdataconfig.json").write_text(
            json.dumps({k: {"S3DistributionType": v} for k, v in channels.items()})
        )
        train = base_dir / "input" / "data" / "train"
        validation = base_dir / "input" / "data" / "validation"
        for folder in (train, validation):
            folder.mkdir(parents=True)
        write_shards(train, shards)
        given = job.validation
        write_shards(validation, {"part-00000.jsonl": given} if isinstance(given, str) else given)
    return hosts


def write_shards(folder: Path, shards: Mapping[str, str | bytes]) -> None:
    """Write shards by their names."""
    for name, content in shards.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def running(job: Job, hosts: Sequence[tuple[str, Path]]) -> Iterator[list[subprocess.Popen[str]]]:
    """Start the launcher of every laid host; none is left when the block ends."""
    ports = iter(free_ports(1 + len(hosts) * job.devices_per_host))
    peers = {
        name: [f"127.0.0.1:{next(ports)}" for _ in range(job.devices_per_host)] for name, _ in hosts
    }
    environment = {
        "EVENSHARD_PEERS": json.dumps(peers),
        "EVENSHARD_BULLETIN": f"127.0.0.1:{next(ports)}",
        "EVENSHARD_DEVICES_PER_HOST": str(job.devices_per_host),
        **job.environment,
    }
    with ExitStack() as launchers:
        yield [
            launchers.enter_context(running_launcher(base_dir, environment, job))
            for _, base_dir in hosts
        ]


@contextmanager
def running_launcher(
    base_dir: Path, environment: Mapping[str, str], job: Job | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start one launcher in a clean environment; it is gone when the block ends."""
    with subprocess.Popen(
        [sys.executable, "-m", "training.launch", job.framework if job else PYTORCH],
        cwd=job.code_root if job else CODE_ROOT,
        env={"PATH": os.environ["PATH"], "SAGEMAKER_BASE_DIR": str(base_dir), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as launcher:
        try:
            yield launcher
        finally:
            if launcher.poll() is None:
                launcher.terminate()


def finish(
    hosts: Sequence[tuple[str, Path]],
    launchers: Sequence[subprocess.Popen[str]],
    limit_s: float = RUN_LIMIT_S,
) -> list[Host]:
    """Wait until the launchers end by themselves."""
    logs = [launcher.communicate(timeout=limit_s)[0] for launcher in launchers]
    return [
        Host(name=name, base_dir=base_dir, exit_code=launcher.returncode, log=log)
        for (name, base_dir), launcher, log in zip(hosts, launchers, logs, strict=True)
    ]


def launch(job: Job, limit_s: float = RUN_LIMIT_S) -> list[Host]:
    """Lay the hosts, run all launchers to their end."""
    hosts = lay(job)
    with running(job, hosts) as launchers:
        return finish(hosts, launchers, limit_s)
