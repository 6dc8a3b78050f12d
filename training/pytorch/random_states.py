"""The random generators of a rank: seeded for every epoch, kept in checkpoints."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


def seed_epoch(seed: int, epoch: int, rank: int) -> None:
    """Seed all random generators of this process for an epoch.

    Each epoch anew: what a rank draws once it has run out of records, for fillers of any size, is
    then gone with the epoch, so that a training that was interrupted draws the same as one that was
    not. Each rank otherwise: equal dropout on all ranks would be none of the batch.
    """
    sequence = np.random.SeedSequence([seed, epoch, rank])
    for_torch, for_python, for_numpy = (int(word) for word in sequence.generate_state(3))
    torch.manual_seed(for_torch)
    random.seed(for_python)
    np.random.seed(for_numpy)  # noqa: NPY002 - models of other people's may use it


def random_states(device: torch.device) -> dict[str, Any]:
    """The states of the generators of this process and of its device."""
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002 - the same
    states: dict[str, Any] = {
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": (kind, torch.from_numpy(np.asarray(keys).astype(np.int64)), *rest),
    }
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_random_states(states: Mapping[str, Any], device: torch.device) -> None:
    """Take over what `random_states` returned, on whatever device."""
    torch.set_rng_state(states["torch"].cpu())
    random.setstate(states["python"])
    kind, keys, *rest = states["numpy"]
    np.random.set_state((kind, keys.cpu().numpy().astype(np.uint32), *rest))  # noqa: NPY002 - the same
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"].cpu(), device)
