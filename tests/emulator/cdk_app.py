"""A copy of the app, deployed by the unmodified CDK command line to an emulator."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenshard.emulator.server import Emulator
from evenshard.repository import ROOT
from evenshard.simulator.deployment.resources import ACCOUNT, REGION
from tests.app_copy import copy_app

_VENV_BIN = Path(sys.executable).parent
_REGISTRY = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com"
_DIGEST = f"sha256:{'0' * 64}"
_BUILT_IMAGE = re.compile(r'^kind = "build"\nbase_image = ".*/(.+):.+"$', re.MULTILINE)
_LIMIT_S = 240
_DEPLOY = (
    "deploy",
    "--all",
    # Change sets of moto export nothing, so that the next stack could not import it.
    "--method=direct",
    "--require-approval=never",
    "--no-notices",
    "--progress=events",
)
"""`make deploy`, without questions, on a service without change sets."""


class CdkError(Exception):
    """The CDK command line failed; what it printed is the message."""


@dataclass(frozen=True, kw_only=True)
class CdkApp:
    """One checkout and the place it is deployed to."""

    folder: Path
    environment: Mapping[str, str]

    @property
    def assembly(self) -> Path:
        """What the last deployment synthesized."""
        return self.folder / "cdk.out"

    def bootstrap(self) -> str:
        """Prepare the account, once."""
        return self.cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", "--no-notices")

    def deploy(self, name: str = "dev") -> str:
        """Synthesize and deploy every stack of an environment; what was printed."""
        return self.cdk(*_DEPLOY, "-c", f"env={name}")

    def deploy_again(self) -> str:
        """Deploy what was synthesized last."""
        return self.cdk(*_DEPLOY, "--app", str(self.assembly))

    def destroy(self) -> str:
        """Delete every stack of what was synthesized last."""
        return self.cdk("destroy", "--all", "--force", "--no-notices", "--app", str(self.assembly))

    def change(self, name: str, former: str, latter: str) -> None:
        """Replace a line of an environment's settings."""
        file = self.folder / "config" / f"{name}.toml"
        text = file.read_text(encoding="utf-8")
        assert text.count(f"\n{former}\n") == 1, f"{former!r} is no single line of {file.name}"
        file.write_text(text.replace(f"\n{former}\n", f"\n{latter}\n"), encoding="utf-8")

    def cdk(self, *arguments: str) -> str:
        """Run the CDK command line.

        Raises:
            CdkError: it failed.
        """
        return self.run([str(ROOT / "node_modules" / ".bin" / "cdk"), *arguments])

    def run(self, command: Sequence[str], answer: str = "") -> str:
        """Run any command in the checkout.

        Args:
            command: as a list.
            answer: what is typed when it asks.

        Raises:
            CdkError: it failed.
        """
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=dict(self.environment),
            input=answer,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_LIMIT_S,
        )
        if done.returncode != 0:
            raise CdkError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout


def cdk_app(folder: Path, server: Emulator, docker: Mapping[str, str] | None = None) -> CdkApp:
    """Copy the app.

    Args:
        folder: where to, an empty one.
        server: where it will be deployed.
        docker: the variables with which images are built; None: they exist in some registry.
    """
    copy_app(folder)
    # cdk.json names this interpreter; what is imported lies beside app.py.
    (folder / ".venv").symlink_to(_VENV_BIN.parent)
    for file in (folder / "config").glob("*.toml") if docker is None else ():
        text = file.read_text(encoding="utf-8")
        existing = rf'kind = "existing"\nuri = "{_REGISTRY}/\1@{_DIGEST}"'
        file.write_text(_BUILT_IMAGE.sub(existing, text), encoding="utf-8")
    return CdkApp(folder=folder, environment={**command_environment(server), **(docker or {})})


def command_environment(server: Emulator) -> dict[str, str]:
    """The environment of commands: node and Python of this venv, AWS at the emulator alone."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "CDK_")) and name != "PYTHONPATH"
    }
    return {
        **kept,
        **server.environment(),
        "PATH": f"{_VENV_BIN}{os.pathsep}{os.environ['PATH']}",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "CI": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        # CloudFormation's own checks cost seconds and run in `make check`.
        "CDK_VALIDATION": "false",
    }
