"""A PyTorch loop over lines of text, sharded among hosts: a model that guesses the next byte.

It is the example that is passed around for ShardedByS3Key, written so that it works. A comment
that starts with "Usual:" stands where that example goes wrong and says what comes of it; each of
these is shown by a test of its own in tests/simulation/test_usual_advice.py.

Run by the launcher, one process per device of each host, with the hyperparameter

    program=examples/pytorch/train.py

or by hand, on one host with two devices:

    SM_CHANNEL_TRAIN=folder SM_MODEL_DIR=. torchrun --nproc-per-node 2 examples/pytorch/train.py
"""

import argparse
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Adam

from training.pytorch.ranks import Ranks, join_ranks
from training.records import LoaderSettings, RecordLoader, Step, find_shards, steps_of_epoch

END = 10
"""The byte before and after each line: the newline that separates lines can be in none."""
PADDING = 256
LONGEST_LINE = 256
"""Bytes of a line that are learned from."""


class NextByte(nn.Module):
    """The logits of the byte that follows each byte of a line."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(PADDING + 1, 16, padding_idx=PADDING)
        self.memory = nn.GRU(16, 32, batch_first=True)
        self.output = nn.Linear(32, PADDING)

    def forward(self, tokens: Tensor) -> Tensor:
        """Guess for B lines of up to T bytes, shape (B, T); the logits have shape (B, T, 256)."""
        states, _ = self.memory(self.embedding(tokens))
        logits: Tensor = self.output(states)
        return logits


def main() -> None:
    """Train, and leave the model with rank 0."""
    options = read_options()
    # Usual: "SageMaker initialises torch.distributed by itself". It sets no rank and starts no
    # torchrun: init_process_group fails for want of RANK, and without it each host trains a model
    # of its own. Our launcher starts torchrun, and join_ranks finds what that sets.
    # Usual: always nccl, and no GPU chosen, so that all ranks of a host meet on its first GPU.
    with join_ranks() as ranks:
        # Usual: every rank reads all files of the directory. ShardedByS3Key splits objects among
        # hosts only: with g GPUs per host each record is used g times per epoch. A
        # DistributedSampler does not mend it: it takes one part in `world` of what is only this
        # host's, and the rest of that is never read. Right is a split among the ranks of this host.
        # Usual: listdir() and readlines(). A nested folder ends the program, hidden files become
        # data, and each rank holds all data of its host in memory; here, a window of some blocks.
        loader = RecordLoader(
            find_shards(Path(os.environ["SM_CHANNEL_TRAIN"])),
            settings=LoaderSettings(
                batch_size=options.batch_size, seed=options.seed, output="bytes"
            ),
            part=ranks.local_rank,
            parts=ranks.local_world_size,
        )
        model = train(loader, ranks, options)
        print(f"rank {ranks.rank}: weights {fingerprint(model)}", flush=True)
        # Usual: nothing is saved. If every host saved under one name, SageMaker would merge their
        # folders and keep either file.
        if ranks.is_chief:
            torch.save(model.state_dict(), Path(os.environ["SM_MODEL_DIR"]) / "model.pt")


def train(loader: RecordLoader, ranks: Ranks, options: argparse.Namespace) -> NextByte:
    """Train on this rank's part, in step with all other ranks."""
    # Usual: no model is trained at all, the loop prints.
    torch.manual_seed(options.seed)
    model = NextByte().to(ranks.device)
    replica = DistributedDataParallel(model)
    optimizer = Adam(model.parameters(), lr=options.learning_rate)
    for epoch in range(options.epochs):
        # Usual: `for batch in dataloader`. Hosts hold unequal shards, so that some ranks take more
        # steps than others, whose gradients they then wait for in vain. Here all take as many.
        steps = steps_of_epoch(
            loader,
            epoch=epoch,
            host_rank=int(os.environ["GROUP_RANK"]),
            all_gather=ranks.all_gather,
        )
        sums = torch.zeros(2, dtype=torch.float64, device=ranks.device)  # losses, lines
        for step in steps:
            losses = line_losses(replica, step, ranks.device)
            # Usual: each rank's mean, which DDP averages: a line weighs more on a rank with fewer.
            loss = losses.sum() * ranks.world_size / step.records
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
            optimizer.step()
            sums[0] += losses.detach().sum()
            sums[1] += len(step.batch) if step.batch is not None else 0
        report_epoch(ranks, epoch, sums)
    return model


def report_epoch(ranks: Ranks, epoch: int, sums: Tensor) -> None:
    """Say how an epoch went, given this rank's sum of losses and its lines, shape (2,)."""
    print(f"rank {ranks.rank}, epoch {epoch + 1}: {int(sums[1])} records", flush=True)
    loss, lines = ranks.sum(sums)
    if ranks.is_chief:
        # In the form that the pipeline's metrics are read from; of one rank only.
        print(f"epoch={epoch + 1}; train_loss={loss / lines:.5f}", flush=True)


def read_options() -> argparse.Namespace:
    """Read the hyperparameters, which the launcher passes as arguments."""
    parser = argparse.ArgumentParser(description="guess the next byte of lines of text")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32, help="lines per rank and step")
    parser.add_argument("--learning_rate", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def line_losses(model: nn.Module, step: Step, device: torch.device) -> Tensor:
    """Compute the mean loss over the bytes of each line; shape (lines,).

    A rank that has no lines left takes part with an empty one that weighs nothing.
    """
    lines = [b""] if step.batch is None else step.batch.data
    tokens = encode(lines).to(device)
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    logits = model(inputs).transpose(1, 2)
    losses = functional.cross_entropy(logits, targets, ignore_index=PADDING, reduction="none")
    means = losses.sum(1) / (targets != PADDING).sum(1)
    return means * (step.batch is not None)


def encode(lines: Sequence[bytes]) -> Tensor:
    """Turn lines into bytes with END around them, padded to the longest; shape (lines, bytes)."""
    rows = [torch.tensor([END, *line[:LONGEST_LINE], END]) for line in lines]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)


def fingerprint(model: nn.Module) -> str:
    """Digest all weights: equal ones give equal text."""
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
