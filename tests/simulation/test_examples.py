"""The examples do what the usual ones do not: each record once, one model for all."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from examples.pytorch.train import PADDING, NextByte, encode, fingerprint
from tests.simulation.launched import Host, Job, launch
from training.contract.metrics import TRAIN_LOSS
from training.launcher.program import rank_command

pytestmark = pytest.mark.timeout(300)  # torch starts in every rank; two noisy cores

EPOCHS = 3
BATCH_SIZE = 8
LEARNING_RATE = 0.02
WATCHED = "tests/simulation/programs/watched.py"
WORDS = ("the", "shards", "of", "this", "host", "are", "its", "own")


def words(number: int) -> str:
    return " ".join(WORDS[(number * k + k) % len(WORDS)] for k in range(1, 6))


# 71 lines on algo-1, an empty one among them, and 9 on algo-2; every line is unlike all others.
TEXT_SHARDS: Sequence[Mapping[str, str]] = (
    {
        "a.txt": "\n".join(f"{words(n)} {n}" for n in range(60)) + "\n\n",
        "nested/b.txt": "".join(f"{words(n)} {n}\n" for n in range(60, 70)),
    },
    {"c.txt": "".join(f"{words(n)} {n}\n" for n in range(70, 79))},
)
TEXT_LINES = ["", *(f"{words(n)} {n}" for n in range(79))]


def run(folder: Path, shards: Sequence[Mapping[str, str]], **hyperparameters: str) -> list[Host]:
    values = {"epochs": EPOCHS, "batch_size": BATCH_SIZE, "learning_rate": LEARNING_RATE}
    hosts = launch(
        Job(
            folder=folder,
            shards=shards,
            validation="",
            hyperparameters={k: str(v) for k, v in values.items()} | hyperparameters,
            devices_per_host=2,
        )
    )
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return hosts


def steps_of_processes(hosts: Sequence[Host]) -> list[list[dict[str, Any]]]:
    """For each process of the hosts, the steps that it took."""
    return [
        [json.loads(line) for line in file.read_text().splitlines()]
        for host in hosts
        for file in sorted((host.base_dir / "output" / "data").glob("steps-of-process-*"))
    ]


def all_logs(hosts: Sequence[Host]) -> str:
    return "".join(host.log for host in hosts)


@pytest.fixture(scope="module")
def pytorch(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    folder = tmp_path_factory.mktemp("pytorch")
    return run(folder, TEXT_SHARDS, program=WATCHED, watched="examples/pytorch/train.py")


def test_the_launcher_finds_the_example_itself() -> None:
    script, *arguments = rank_command("pytorch", {"program": "examples/pytorch/train.py"})
    assert Path(script).read_text(encoding="utf-8").startswith('"""A PyTorch loop over lines')
    assert arguments == []


def test_every_line_is_used_once_per_epoch(pytorch: list[Host]) -> None:
    steps = [step for process in steps_of_processes(pytorch) for step in process]
    for epoch in range(EPOCHS):
        used = Counter(line for step in steps if step["epoch"] == epoch for line in step["records"])
        assert used == Counter(TEXT_LINES)
    printed = re.findall(r"rank (\d), epoch (\d): (\d+) lines", all_logs(pytorch))
    assert len(printed) == 4 * EPOCHS
    assert sum(int(lines) for _, _, lines in printed) == EPOCHS * len(TEXT_LINES)


def test_all_ranks_take_as_many_steps(pytorch: list[Host]) -> None:
    processes = steps_of_processes(pytorch)
    assert [len(steps) for steps in processes] == [5 * EPOCHS] * 4
    # The case is an uneven one: some ranks have nothing left after the first step.
    assert sorted(sum(bool(step["records"]) for step in steps) for steps in processes) == [
        EPOCHS,
        EPOCHS,
        5 * EPOCHS,
        5 * EPOCHS,
    ]


def test_all_ranks_end_with_equal_weights(pytorch: list[Host]) -> None:
    printed = re.findall(r"rank \d: weights (\w{16})", all_logs(pytorch))
    model = NextByte()
    model.load_state_dict(torch.load(pytorch[0].base_dir / "model" / "model.pt"))
    assert printed == [fingerprint(model)] * 4


def train_alone(hosts: Sequence[Host]) -> NextByte:
    """One process that reads the lines of all ranks in every step."""
    torch.manual_seed(0)
    model = NextByte()
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for of_ranks in zip(*steps_of_processes(hosts), strict=True):
        lines = [line.encode() for step in of_ranks for line in step["records"]]
        assert {step["records_of_all"] for step in of_ranks} == {len(lines)}
        losses = []
        for line in lines:
            tokens = encode([line])
            logits = model(tokens[:, :-1]).squeeze(0)
            losses.append(functional.cross_entropy(logits, tokens[0, 1:], ignore_index=PADDING))
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call] # torch's own
        optimizer.step()
    return model


def test_the_weights_are_those_of_one_process(pytorch: list[Host]) -> None:
    trained = torch.load(pytorch[0].base_dir / "model" / "model.pt")
    alone = train_alone(pytorch).state_dict()
    torch.manual_seed(0)
    untrained = NextByte().state_dict()
    # In float32; with each rank's mean instead, the difference is 0.13.
    for name, tensor in trained.items():
        assert (tensor - alone[name]).abs().max() < 1e-3
    assert (trained["output.bias"] - untrained["output.bias"]).abs().max() > 0.1


def test_the_loss_falls_and_is_a_metric_of_the_pipeline(pytorch: list[Host]) -> None:
    losses = [float(loss) for loss in re.findall(TRAIN_LOSS.regex, pytorch[0].log)]
    assert len(losses) == EPOCHS
    assert losses[-1] < losses[0] - 0.5
    assert not re.findall(TRAIN_LOSS.regex, pytorch[1].log)


def test_only_the_chief_writes_a_model(pytorch: list[Host]) -> None:
    assert [host.model_files for host in pytorch] == [["model.pt"], []]
