"""The gradient of each policy for uneven shards, against one process that reads everything.

Two ranks hold 1,000 and 1,901 records that differ in distribution. Each policy sums its gradients
over one epoch without an optimizer step, so all of them belong to the same weights.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, distributed, nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

from benchmarks.records.jobs import Job
from benchmarks.records.ranks import RANKS, run_ranks
from training.records import LoaderSettings, RecordLoader, find_shards, steps_of_epoch

RECORDS: Final = (1000, 1901)
FEATURES: Final = 64
HIDDEN: Final = 256
POLICIES: Final = ("weight", "drop", "join")


def compare(job: Job) -> dict[str, Any]:
    """Measure each policy: its gradient error and the part of the records that it used.

    Returns:
        `weight`, `drop`, `join`: errors; `weight_used`, `drop_used`, `join_used`: 0..1.
    """
    return run_ranks(_errors, job.batch_size)


def _errors(rank: int, folder: Path, batch_size: int) -> dict[str, Any]:
    # The chief writes all shards: whoever writes its own could be overtaken by a reader.
    if rank == 0:
        for writer in range(RANKS):
            _write_shard(folder / f"host-{writer}", writer)
    distributed.barrier()
    wanted = _reference(folder)
    found: dict[str, Any] = {}
    for policy in POLICIES:
        gradient, used = _epoch_gradient(policy, folder / f"host-{rank}", rank, batch_size)
        total = torch.tensor(used)
        distributed.all_reduce(total)
        if policy != "weight":
            # The others only claim a direction: their length is granted to them.
            gradient = gradient * (wanted.norm() / gradient.norm())
        error = (gradient - wanted).norm() / wanted.norm()
        # A joined rank does not see what comes later, so the rank with the most records judges.
        distributed.broadcast(error, src=RANKS - 1)
        found[policy] = float(error)
        found[f"{policy}_used"] = int(total) / sum(RECORDS)
    return found


def _epoch_gradient(policy: str, folder: Path, rank: int, batch_size: int) -> tuple[Tensor, int]:
    """Sum a policy's gradients over an epoch: float64, and how many records this rank used."""
    settings = LoaderSettings(
        batch_size=batch_size, seed=0, uneven="drop" if policy == "drop" else "weight"
    )
    loader = RecordLoader(find_shards(folder), settings=settings, part=0, parts=1)
    model = DistributedDataParallel(_model(torch.float32))
    joins = policy == "join"
    steps = _join_steps(model, loader) if joins else _agreed_steps(model, loader, rank)
    total = torch.zeros(_count_weights(model), dtype=torch.float64)
    used = 0
    for records, step_weight in steps:
        total += _gradient(model).double() * step_weight
        used += records
        model.zero_grad()
    return total / sum(RECORDS), used


def _agreed_steps(
    model: DistributedDataParallel, loader: RecordLoader, rank: int
) -> Iterator[tuple[int, float]]:
    """Step as the trainer does; yield this rank's records and the step's records of all ranks."""
    steps = steps_of_epoch(loader, epoch=0, host_rank=rank, all_gather=_all_gather)
    for batch, records in steps:
        inputs, wanted = _tensors(batch.records, torch.float32) if batch else _filler()
        scale = RANKS / records if batch else 0.0
        loss = _losses(model, inputs, wanted).sum() * scale
        loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
        yield len(batch) if batch else 0, records


def _join_steps(
    model: DistributedDataParallel, loader: RecordLoader
) -> Iterator[tuple[int, float]]:
    """Step as DDP's Join has it: the mean of each batch, while any rank has one."""
    with Join([model]):
        for batch in loader.epoch(0):
            inputs, wanted = _tensors(batch.records, torch.float32)
            loss = _losses(model, inputs, wanted).mean()
            loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
            yield len(inputs), 1.0


def _reference(folder: Path) -> Tensor:
    """Compute the mean gradient over all records in one process, in float64."""
    records = []
    for shard in sorted(folder.glob("host-*/*.jsonl")):
        records += [json.loads(line) for line in shard.read_text(encoding="utf-8").splitlines()]
    model = _model(torch.float64)
    loss = _losses(model, *_tensors(records, torch.float64)).mean()
    loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
    return _gradient(model)


def _write_shard(folder: Path, writer: int) -> None:
    random = torch.Generator().manual_seed(7 + writer)
    inputs = torch.randn(RECORDS[writer], FEATURES, generator=random) + writer
    wanted = torch.randn(RECORDS[writer], generator=random)
    folder.mkdir()
    with (folder / f"part-{writer}.jsonl").open("w", encoding="utf-8") as file:
        for numbers, label in zip(inputs.tolist(), wanted.tolist(), strict=True):
            file.write(json.dumps({"inputs": numbers, "wanted": label}) + "\n")


def _model(dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
    return model.to(dtype)


def _losses(model: Callable[[Tensor], Tensor], inputs: Tensor, wanted: Tensor) -> Tensor:
    return (model(inputs).squeeze(1) - wanted) ** 2


def _tensors(records: list[dict[str, Any]], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    inputs = torch.tensor([record["inputs"] for record in records], dtype=dtype)
    return inputs, torch.tensor([record["wanted"] for record in records], dtype=dtype)


def _filler() -> tuple[Tensor, Tensor]:
    return torch.zeros(1, FEATURES), torch.zeros(1)


def _gradient(model: nn.Module) -> Tensor:
    return torch.cat(
        [weights.grad.flatten() for weights in model.parameters() if weights.grad is not None]
    )


def _count_weights(model: nn.Module) -> int:
    return sum(weights.numel() for weights in model.parameters())


def _all_gather(numbers: Any) -> list[list[int]]:  # noqa: ANN401 - a sequence of integers
    mine = torch.tensor(list(numbers), dtype=torch.int64)
    gathered = [torch.empty_like(mine) for _ in range(RANKS)]
    distributed.all_gather(gathered, mine)
    return [tensor.tolist() for tensor in gathered]
