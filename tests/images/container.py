"""Runs an image as SageMaker does: its own entry point as PID 1, /opt/ml laid out, no network."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.images.needs import NAMESPACES
from tests.images.standin import PACKAGES
from tests.images.store import Image

BOOT = Path(__file__).with_name("boot.py")
HOST = "algo-1"
START_LIMIT_S = 120
END_LIMIT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A running image."""

    unshare: subprocess.Popen[str]
    machine: Path
    """What is /opt/ml in there."""
    log: Path

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its PID 1, from outside, as a container engine does."""
        pid = self.unshare.pid
        [child] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(child), number)

    def output(self, name: str) -> Path:
        """A file that a program wrote to SM_OUTPUT_DATA_DIR."""
        return self.machine / "output" / "data" / name

    def json(self, name: str) -> Any:  # noqa: ANN401 - any JSON document
        """The content of such a file."""
        return json.loads(self.output(name).read_text())

    def wait_for(self, file: Path) -> None:
        """Until a file is there; an AssertionError with the log if it never comes."""
        deadline = time.monotonic() + START_LIMIT_S
        while not file.exists():
            assert self.unshare.poll() is None, f"it ended: {self.log.read_text()}"
            assert time.monotonic() < deadline, f"{file} did not come: {self.log.read_text()}"
            time.sleep(0.05)

    def exit_code(self) -> int:
        """Of its PID 1, when it has ended."""
        return self.unshare.wait(timeout=END_LIMIT_S)


@contextmanager
def running(image: Image, machine: Path, hyperparameters: Mapping[str, str]) -> Iterator[Container]:
    """Start an image on one host; it is gone when the block ends."""
    _lay_machine(machine, hyperparameters)
    (image.root / "etc" / "hosts").write_text(f"127.0.0.1 localhost {HOST}\n")
    document = {
        "root": str(image.root),
        "entrypoint": image.entrypoint,
        # TRAINING_JOB_NAME is one of the variables that the platform sets.
        "environment": {**image.environment, "TRAINING_JOB_NAME": "told"},
        "directory": image.working_directory,
        "mounts": {
            "/opt/ml": (str(machine), "bind"),
            PACKAGES: (sysconfig.get_path("purelib"), "bind,ro"),
        },
    }
    log = machine.with_suffix(".log")
    with (
        log.open("w") as file,
        subprocess.Popen(
            ["unshare", *NAMESPACES, sys.executable, str(BOOT), json.dumps(document)],
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        ) as unshare,
    ):
        try:
            yield Container(unshare=unshare, machine=machine, log=log)
        finally:
            # PID 1 dies with it, and with PID 1 all others of its namespace.
            unshare.kill()


def _lay_machine(machine: Path, hyperparameters: Mapping[str, str]) -> None:
    config = machine / "input" / "config"
    config.mkdir(parents=True)
    for folder in ("input/data/train", "model", "output/data"):
        (machine / folder).mkdir(parents=True)
    resources = {"current_host": HOST, "hosts": [HOST], "network_interface_name": "lo"}
    channels = {"train": {"S3DistributionType": "ShardedByS3Key"}}
    (config / "resourceconfig.json").write_text(json.dumps(resources))
    (config / "hyperparameters.json").write_text(json.dumps(dict(hyperparameters)))
    (config / "inputdataconfig.json").write_text(json.dumps(channels))
