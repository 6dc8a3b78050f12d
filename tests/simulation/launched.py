"""Hosts laid out as SageMaker lays them, and the real launcher run on each: no simulator."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CODE_ROOT = Path(__file__).resolve().parents[2]
RUN_LIMIT_S = 100
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

    def data_report(self) -> dict[str, Any]:
        file = self.base_dir / "output" / "data" / self.name / "data.json"
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return report


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training job to be launched."""

    folder: Path
    """Where the hosts' folders are made."""
    shards: Sequence[Mapping[str, str]]
    """For each host, shard name -> content."""
    validation: str
    """Content of the one validation shard."""
    hyperparameters: Mapping[str, str]
    devices_per_host: int = 2
    environment: Mapping[str, str] = field(default_factory=dict)


def lines(records: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def lay(job: Job) -> list[tuple[str, Path]]:
    """Write every host's folder; returns names and folders."""
    names = [f"algo-{number}" for number in range(1, len(job.shards) + 1)]
    hosts = [(name, job.folder / name) for name in names]
    for (name, base_dir), shards in zip(hosts, job.shards, strict=True):
        config = base_dir / "input" / "config"
        for folder in (config, base_dir / "model", base_dir / "output" / "data"):
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
        for shard, content in shards.items():
            (train / shard).parent.mkdir(parents=True, exist_ok=True)
            (train / shard).write_text(content, encoding="utf-8")
        (validation / "part-00000.jsonl").write_text(job.validation, encoding="utf-8")
    return hosts


def start(job: Job, hosts: Sequence[tuple[str, Path]]) -> list[subprocess.Popen[str]]:
    """Start the launcher of every laid host."""
    peers = {name: f"127.0.0.1:{free_port()}" for name, _ in hosts}
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONUNBUFFERED": "1",
        "EVENSHARD_PEERS": json.dumps(peers),
        "EVENSHARD_DEVICES_PER_HOST": str(job.devices_per_host),
        **job.environment,
    }
    return [
        subprocess.Popen(
            [sys.executable, "-m", "training.launch", "pytorch"],
            cwd=CODE_ROOT,
            env={**environment, "SAGEMAKER_BASE_DIR": str(base_dir)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _, base_dir in hosts
    ]


def finish(
    hosts: Sequence[tuple[str, Path]], launchers: Sequence[subprocess.Popen[str]]
) -> list[Host]:
    """Wait for the launchers; kills those that hang."""
    done = []
    try:
        for (name, base_dir), launcher in zip(hosts, launchers, strict=True):
            log, _ = launcher.communicate(timeout=RUN_LIMIT_S)
            done.append(Host(name=name, base_dir=base_dir, exit_code=launcher.returncode, log=log))
    finally:
        for launcher in launchers:
            if launcher.poll() is None:
                launcher.terminate()
                launcher.communicate()
    return done


def launch(job: Job) -> list[Host]:
    """Lay the hosts, run all launchers to their end."""
    hosts = lay(job)
    return finish(hosts, start(job, hosts))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
