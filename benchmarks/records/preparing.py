"""Conversions that peers need before they can read; not measured, in a process of their own."""

from pathlib import Path
from typing import Any

from benchmarks.records.jobs import Job
from benchmarks.records.peers import huggingface, litdata_chunks

HUGGINGFACE_KINDS = ("lines", "json_lines", "parquet")


def convert(job: Job) -> dict[str, Any]:
    """Convert what lies below the job's folder; takes nothing where that was done before."""
    root = Path(job.folder)
    litdata_chunks.convert(root / "lines")
    for kind in HUGGINGFACE_KINDS:
        huggingface.convert(root / kind, kind)
    return {}
