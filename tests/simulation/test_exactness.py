"""The weights of a real distributed run equal those of one process that reads everything.

The reference below shares no code with training/pytorch/loop.py: no gradient scale, no filler, no
reduction. It takes from the trainer the model, its optimizer and the encoding of records, and from
`training.records` which records are in each rank's step.
"""

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

from tests.simulation.launched import Host, Job, launch, lines
from training.contract.hyperparameters import TrainingHyperparameters, user_of
from training.pytorch.task import new_model
from training.pytorch.tasks.text import TextTask
from training.pytorch.tasks.text_bag import BagInputs
from training.records import LoaderSettings, RecordLoader, find_shards

pytestmark = pytest.mark.timeout(300)  # torch starts in every rank; two noisy cores

TOLERANCE = 1e-10
HYPERPARAMETERS = TrainingHyperparameters(
    epochs=2, batch_size=4, dtype="float64", seed=7, hash_buckets=512, embedding_dim=8, hidden_dim=8
)
DEVICES_PER_HOST = 2
WORDS = ("offer", "meeting", "free", "money", "report", "lunch", "click", "winner", "agenda")


def make_records(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "text": " ".join(WORDS[(number * k + k * k) % len(WORDS)] for k in range(number % 9)),
            "label": number * 7 % 3 % 2,
        }
        for number in range(first, first + count)
    ]


# 33 records on algo-1, 9 on algo-2: 16, 17, 4 and 5 on the ranks. With 4 records a step, ranks run
# out in steps 1, 2 and 4, some on a partial batch.
SHARDS = (
    {"a.jsonl": lines(make_records(0, 23)), "nested/b.jsonl": lines(make_records(23, 10))},
    {"c.jsonl": lines(make_records(33, 9))},
)
VALIDATION = lines(make_records(100, 11))


@dataclass(frozen=True)
class Reference:
    """What one process gets that reads the union of all ranks' batches."""

    weights: dict[str, Tensor]
    losses: list[float]
    """Mean over the records of each epoch."""
    records_in_steps: list[int]
    """Of the first epoch."""


def job(folder: Path, **more: str) -> Job:
    given = dataclasses.asdict(HYPERPARAMETERS).items()
    values = {name: value for name, value in given if user_of(name) in (None, "pytorch")}
    return Job(
        folder=folder,
        shards=SHARDS,
        validation=VALIDATION,
        # Half of them JSON-encoded, as the SageMaker SDK does.
        hyperparameters={
            **{
                name: json.dumps(str(value)) if index % 2 else str(value)
                for index, (name, value) in enumerate(values.items())
            },
            **more,
        },
        devices_per_host=DEVICES_PER_HOST,
    )


def train_alone(hosts: list[Host]) -> Reference:
    task = TextTask(HYPERPARAMETERS)
    model = new_model(task)
    optimizer = task.build_optimizer(model)
    losses, sizes = [], []
    for epoch in range(HYPERPARAMETERS.epochs):
        loss_sum, records = 0.0, 0
        for inputs in union_batches(hosts, task, epoch):
            logits = model(inputs)
            loss = functional.binary_cross_entropy_with_logits(logits, inputs.labels)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
            optimizer.step()
            loss_sum += loss.item() * len(inputs.labels)
            records += len(inputs.labels)
            if epoch == 0:
                sizes.append(len(inputs.labels))
        losses.append(loss_sum / records)
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    return Reference(weights=weights, losses=losses, records_in_steps=sizes)


def union_batches(hosts: list[Host], task: TextTask, epoch: int) -> Iterator[BagInputs]:
    """For each step, the records of all ranks as one batch."""
    ranks = [
        RecordLoader(
            find_shards(host.base_dir / "input" / "data" / "train"),
            settings=LoaderSettings(
                batch_size=HYPERPARAMETERS.batch_size, seed=HYPERPARAMETERS.seed
            ),
            part=part,
            parts=DEVICES_PER_HOST,
        ).epoch(epoch)
        for host in hosts
        for part in range(DEVICES_PER_HOST)
    ]
    for batches in itertools.zip_longest(*ranks):
        encoded = [task.encode(batch) for batch in batches if batch is not None]
        parts = [part for part in encoded if isinstance(part, BagInputs)]
        offsets = itertools.accumulate((len(part.ngrams) for part in parts), initial=0)
        yield BagInputs(
            ngrams=torch.cat([part.ngrams for part in parts]),
            starts=torch.cat([p.starts + o for p, o in zip(parts, offsets, strict=False)]),
            weights=torch.cat([part.weights for part in parts]),
            labels=torch.cat([part.labels for part in parts]),
        )


def largest_difference(host: Host, reference: Reference) -> float:
    weights = load_file(host.base_dir / "model" / "model.safetensors")
    assert weights.keys() == reference.weights.keys()
    assert all(tensor.dtype == torch.float64 for tensor in weights.values())
    return max((weights[name] - reference.weights[name]).abs().max().item() for name in weights)


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    hosts = launch(job(tmp_path_factory.mktemp("exact")))
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return hosts


@pytest.fixture(scope="module")
def reference(exact: list[Host]) -> Reference:
    return train_alone(exact)


def test_the_case_is_an_uneven_one(reference: Reference) -> None:
    assert reference.records_in_steps == [16, 9, 8, 8, 1]


def test_weights_equal_those_of_one_process(exact: list[Host], reference: Reference) -> None:
    assert largest_difference(exact[0], reference) < TOLERANCE
    untrained = new_model(TextTask(HYPERPARAMETERS)).state_dict()
    moved = (untrained["bag.weight"] - reference.weights["bag.weight"]).abs().max().item()
    assert moved > 1e-3  # the comparison is not one of weights that never changed


def test_the_loss_is_the_mean_over_all_records(exact: list[Host], reference: Reference) -> None:
    printed = re.findall(r"train_loss=([0-9.]+)", exact[0].log)
    assert printed == [f"{loss:.5f}" for loss in reference.losses]


def test_validation_is_that_of_all_records(exact: list[Host], reference: Reference) -> None:
    task = TextTask(HYPERPARAMETERS)
    model = new_model(task)
    model.load_state_dict(reference.weights)
    loader = RecordLoader(
        find_shards(exact[0].base_dir / "input" / "data" / "validation"),
        settings=LoaderSettings(batch_size=11, seed=0, shuffle=False),
        part=0,
        parts=1,
    )
    (batch,) = loader.epoch(0)
    inputs = task.encode(batch)
    with torch.no_grad():
        logits = model(inputs)
    loss = functional.binary_cross_entropy_with_logits(logits, inputs.labels).item()
    accuracy = ((logits > 0) == (inputs.labels > 0)).sum().item() / 11
    last = exact[0].log.strip().splitlines()[-1]
    assert f"validation_loss={loss:.5f}; validation_accuracy={accuracy:.5f};" in last


def test_taking_the_weighting_out_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, reference: Reference
) -> None:
    program = "tests/simulation/programs/unweighted.py"
    hosts = launch(job(tmp_path_factory.mktemp("unweighted"), program=program))
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    assert largest_difference(hosts[0], reference) > 1e-4


def test_only_the_chief_writes_a_model(exact: list[Host]) -> None:
    assert exact[0].model_files == ["config.json", "model.safetensors"]
    assert exact[1].model_files == []
    config = json.loads((exact[0].base_dir / "model" / "config.json").read_text())
    assert config == {
        "framework": "pytorch",
        "hyperparameters": dataclasses.asdict(HYPERPARAMETERS),
        "epochs": 2,
        "records": 42,
        "data_digest": None,
        "complete": True,
    }


def test_every_host_reports_its_records(exact: list[Host]) -> None:
    assert [host.data_report() for host in exact] == [
        {
            "host": "algo-1",
            "records": 33,
            "records_per_rank": [16, 17],
            "steps": 5,
            "data_digest": None,
        },
        {
            "host": "algo-2",
            "records": 9,
            "records_per_rank": [4, 5],
            "steps": 5,
            "data_digest": None,
        },
    ]


def test_the_log_holds_nothing_but_what_is_useful(exact: list[Host]) -> None:
    chief, other = (host.log.splitlines() for host in exact)
    assert len(chief) == 4
    assert chief[0].startswith("algo-1: host 1 of 2, ranks 0..1 of 4 on processors, chief at 127.")
    assert chief[1].startswith("host 0 takes 5 steps per epoch, the ranks take 3.0 on average")
    assert chief[2].startswith("epoch=1; train_loss=")
    assert chief[3].startswith("epoch=2; train_loss=")
    assert len(other) == 1
    assert other[0].startswith("algo-2: host 2 of 2, ranks 2..3 of 4")
