"""The pip.conf of this machine, for a build that must find the same index."""

import subprocess
import sys
from pathlib import Path

_HANDED_ON = ("cert", "index-url", "proxy", "timeout", "default-timeout", "trusted-host")
"""Not what leads to files of this machine, which a build does not see."""


def write_pip_configuration(file: Path) -> None:
    """Write what pip is told here, by files and by variables; variables win, as they do in pip."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    )
    values: dict[str, str] = {}
    for line in sorted(listed.stdout.splitlines(), key=lambda line: line.startswith(":env:")):
        key, _, value = line.partition("=")
        name = key.rpartition(".")[2]
        if name in _HANDED_ON:
            values[name.removeprefix("default-")] = value.strip("'\"")
    text = "".join(f"{name} = {value}\n" for name, value in values.items())
    file.write_text(f"[global]\n{text}")
