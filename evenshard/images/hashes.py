"""Write the images' lock files anew from their pins: `make hashes`.

`training/<framework>/requirements.txt` holds the pins with their reasons; requirements.lock beside
it has these and what they lead to, each with the hashes of its files. Dependencies get the
releases that are installed here, which the tests run with.
"""

import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from evenshard.errors import ExitCode
from evenshard.images.brought import BROUGHT
from evenshard.output import say
from evenshard.repository import ROOT

PYTHON_OF_THE_BASES: Final = "3.12"
_PLATFORM: Final = "x86_64-unknown-linux-gnu"
_HEADER: Final = "# Written by `make hashes` from requirements.txt; do not edit.\n"


def main() -> int:
    """Write every framework's file."""
    for framework in BROUGHT:
        lock = ROOT / "training" / framework / "requirements.lock"
        code = _lock(framework, lock)
        if code != 0:
            return ExitCode.FAILED
        say(f"wrote {lock.relative_to(ROOT)}")
    return ExitCode.DONE


def _lock(framework: str, lock: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="evenshard-") as folder:
        installed = Path(folder) / "installed.txt"
        installed.write_text("\n".join(_installed()), encoding="utf-8")
        written = Path(folder) / "requirements.lock"
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "uv"),
                "pip",
                "compile",
                f"training/{framework}/requirements.txt",
                "--quiet",
                "--generate-hashes",
                "--no-header",
                "--no-annotate",
                f"--python-version={PYTHON_OF_THE_BASES}",
                f"--python-platform={_PLATFORM}",
                f"--constraint={installed}",
                f"--output-file={written}",
                *(f"--no-emit-package={name}" for name in BROUGHT[framework]),
            ],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode == 0:
            lock.write_text(_HEADER + _locked(written), encoding="utf-8")
    return done.returncode


def _locked(written: Path) -> str:
    """What uv wrote, without its closing list of what it left out."""
    text = written.read_text(encoding="utf-8")
    return text.partition("\n# The following packages were excluded")[0].rstrip() + "\n"


def _installed() -> list[str]:
    """Every release in this environment, as a constraint."""
    found = importlib.metadata.distributions()
    pins = {f"{one.name}=={one.version.partition('+')[0]}" for one in found}
    return sorted(pin for pin in pins if not pin.startswith("evenshard=="))


if __name__ == "__main__":
    sys.exit(main())
