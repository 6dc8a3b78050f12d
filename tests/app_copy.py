"""The app elsewhere: a copy of what a synth reads, for tests that change it or move it."""

import shutil
from pathlib import Path

from evenshard.repository import ROOT

_READ = ("app.py", "cdk.json", "config", "examples", "infra", "training")


def copy_app(folder: Path) -> Path:
    """Copy the app into a folder, which is made where there is none; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _READ:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    return folder
