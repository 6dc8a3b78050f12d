"""Some ranks on 127.0.0.1, two by default, that compute something together over gloo."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch
from torch import distributed, multiprocessing

RANKS: Final = 2

Program = Callable[[int, Path, Any], dict[str, Any]]
"""(rank, a folder that all ranks share, what to do) -> a result; that of rank 0 counts."""


def run_ranks(program: Program, task: Any, ranks: int = RANKS) -> dict[str, Any]:  # noqa: ANN401 - the program's own
    """Run a function of a module on so many ranks.

    Returns:
        What it returned on rank 0.
    """
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        spawn: Any = multiprocessing.spawn  # type: ignore[attr-defined] # torch does not export it
        spawn(_rank, args=(program, task, Path(folder), results, ranks), nprocs=ranks, join=True)
    result: dict[str, Any] = results.get()
    return result


def _rank(
    rank: int,
    program: Program,
    task: Any,  # noqa: ANN401 - the program's own
    folder: Path,
    results: Any,  # noqa: ANN401 - a queue of a context, which has no public type
    ranks: int,
) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    # One thread each: two ranks with as many threads as cores each would only disturb each other.
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks
    )
    result = program(rank, folder, task)
    if rank == 0:
        results.put(result)
    distributed.barrier()
    distributed.destroy_process_group()
