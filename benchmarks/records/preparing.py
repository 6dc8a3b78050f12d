"""Conversions that peers need before they can read; not measured, in a process of their own."""

import importlib
from pathlib import Path
from typing import Any, Final

from benchmarks.records.jobs import Job

CONVERTERS: Final = {
    "lines": ("litdata_chunks", "huggingface"),
    "json_lines": ("huggingface",),
    "parquet": ("huggingface",),
}
"""Modules of `peers` that convert a kind of data."""


def convert(job: Job) -> dict[str, Any]:
    """Convert what lies in the job's folder; takes nothing where that was done before."""
    folder = Path(job.folder)
    for name in CONVERTERS[folder.name]:
        # Found here: a section is to need the peers alone that it measures.
        importlib.import_module(f"benchmarks.records.peers.{name}").convert(folder, folder.name)
    return {}
