"""The usual loop with unequal steps on two ranks: as many as the rank has batches.

The gradient of each rank is 1 + its rank, three numbers of it, so the averages that are right are
1.5. Each epoch ends with a metric, three numbers as well.
"""

import datetime as dt
import gc
import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

BATCHES_OF_RANKS = (10, 8)
TIMEOUT = dt.timedelta(seconds=4)

distributed.init_process_group("gloo")
rank = distributed.get_rank()


def warm_up() -> None:
    """Take a step: what DDP loads at its first one is not to count as waiting."""
    DistributedDataParallel(nn.Linear(3, 1))(torch.ones(1, 3)).sum().backward()


def train(epochs: int, *, metric: bool) -> dict[str, Any]:
    """Train until it is done or fails; returns what this rank knows then."""
    distributed.barrier()
    group = distributed.new_group(timeout=TIMEOUT)
    model = nn.Linear(3, 1, bias=False)
    replica = DistributedDataParallel(model, process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    report: dict[str, Any] = {"steps": 0, "gradients": [], "metrics": [], "error": ""}
    try:
        for _ in range(epochs):
            for _ in range(BATCHES_OF_RANKS[rank]):
                optimizer.zero_grad()
                replica(torch.full((1, 3), 1.0 + rank)).sum().backward()
                optimizer.step()
                report["steps"] += 1
                assert model.weight.grad is not None
                report["gradients"].append(model.weight.grad[0].tolist())
            if metric:
                correct_seen_one = torch.tensor([90.0, 100.0, 1.0])
                distributed.all_reduce(correct_seen_one, group=group)
                report["metrics"].append(correct_seen_one.tolist())
    except RuntimeError as error:
        report["error"] = str(error)
    # Whoever is done does something else until the other one has given up.
    distributed.barrier()
    return {**report, "weights": model.weight[0].tolist()}


warm_up()
report = {"one_epoch": train(1, metric=False), "with_metric": train(4, metric=True)}
(Path(os.environ["SM_OUTPUT_DATA_DIR"]) / f"steps-of-{rank}.json").write_text(json.dumps(report))
if rank == 0:
    (Path(os.environ["SM_MODEL_DIR"]) / "model").touch()
distributed.destroy_process_group()
# What DDP keeps in cycles must be gone before the interpreter, see training/pytorch/ranks.py.
gc.collect()
