"""The examples do what the usual ones do not: each record once, one model for all."""

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from examples.pytorch.train import PADDING, NextByte, encode, fingerprint
from tests.simulation.bare import run_bare
from tests.simulation.launched import Host, Job, launch, lines
from training.contract.layout import PYTORCH, TENSORFLOW
from training.contract.metrics import TRAIN_LOSS
from training.launcher.program import rank_command

pytestmark = pytest.mark.timeout(300)  # a framework starts in every rank; two noisy cores

EPOCHS = 3
BATCH_SIZE = 8
LEARNING_RATE = 0.02
STEPS = 5
"""Of an epoch: 71 records on the two ranks of algo-1; algo-2 has 9, which are two steps at most."""
WATCHED = "tests/simulation/programs/watched.py"
WORDS = ("the", "shards", "of", "this", "host", "are", "its", "own")


def words(number: int) -> str:
    chosen = (WORDS[(number * k + k) % len(WORDS)] for k in range(1, 6))
    return " ".join([*chosen, str(number)])


def mail(number: int) -> dict[str, Any]:
    label = int(number % 3 == 0)
    subject = "Cash prize" if label else "lunch meeting"
    return {"text": f"{subject} {words(number)} déjà\vvu", "label": label}


# Every record is unlike all others, and one is empty.
TEXT_LINES: list[Any] = ["", *map(words, range(79))]
MAILS: list[Any] = [{"text": "", "label": 0}, *map(mail, range(79))]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of an example."""

    framework: str
    hosts: list[Host]
    records: list[Any]
    """Of all hosts."""

    @property
    def log(self) -> str:
        return "".join(host.log for host in self.hosts)

    @property
    def steps_of_ranks(self) -> list[list[dict[str, Any]]]:
        """For each process, the steps that it took."""
        return [
            [json.loads(line) for line in file.read_text().splitlines()]
            for host in self.hosts
            for file in sorted((host.base_dir / "output" / "data").glob("steps-of-process-*"))
        ]

    @property
    def records_of_steps(self) -> list[list[Any]]:
        """For each step, the records of all processes."""
        union = []
        for of_ranks in zip(*self.steps_of_ranks, strict=True):
            union.append([record for step in of_ranks for record in step["records"]])
            assert {step["records_of_all"] for step in of_ranks} == {len(union[-1])}
        return union


def run(framework: str, folder: Path, records: list[Any]) -> Run:
    if framework == PYTORCH:
        texts = ["".join(f"{line}\n" for line in part) for part in parts(records)]
        ending = "txt"
    else:
        texts, ending = [lines(part) for part in parts(records)], "jsonl"
    shards = (
        {f"a.{ending}": texts[0], f"nested/b.{ending}": texts[1]},
        {f"c.{ending}": texts[2]},
    )
    numbers = {"epochs": EPOCHS, "batch_size": BATCH_SIZE, "learning_rate": LEARNING_RATE}
    hosts = launch(
        Job(
            folder=folder,
            shards=shards,
            validation="",
            hyperparameters={
                "program": WATCHED,
                "watched": f"examples/{framework}/train.py",
                **{name: str(number) for name, number in numbers.items()},
            },
            devices_per_host=2,
            framework=framework,
        )
    )
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return Run(framework=framework, hosts=hosts, records=records)


def parts(records: list[Any]) -> list[list[Any]]:
    return [records[:61], records[61:71], records[71:]]


@pytest.fixture(scope="module")
def pytorch(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(PYTORCH, tmp_path_factory.mktemp(PYTORCH), TEXT_LINES)


@pytest.fixture(scope="module")
def tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(TENSORFLOW, tmp_path_factory.mktemp(TENSORFLOW), MAILS)


@pytest.fixture(params=[PYTORCH, TENSORFLOW])
def example(request: pytest.FixtureRequest) -> Run:
    of_framework: Run = request.getfixturevalue(request.param)
    return of_framework


@pytest.mark.parametrize("framework", [PYTORCH, TENSORFLOW])
def test_the_launcher_finds_the_examples_themselves(framework: str) -> None:
    program = f"examples/{framework}/train.py"
    script, *arguments = rank_command(framework, {"program": program})
    assert f"\n    program={program}\n" in Path(script).read_text(encoding="utf-8")
    assert arguments == []


def test_every_record_is_used_once_per_epoch(example: Run) -> None:
    for epoch in range(EPOCHS):
        used = Counter(
            json.dumps(record)
            for steps in example.steps_of_ranks
            for step in steps
            for record in step["records"]
            if step["epoch"] == epoch
        )
        assert used == Counter(map(json.dumps, example.records))
    printed = re.findall(r"rank (\d), epoch (\d): (\d+) records", example.log)
    assert len(printed) == 4 * EPOCHS
    assert sum(int(records) for _, _, records in printed) == EPOCHS * len(example.records)


def test_all_ranks_take_as_many_steps(example: Run) -> None:
    steps_of_ranks = example.steps_of_ranks
    assert [len(steps) for steps in steps_of_ranks] == [STEPS * EPOCHS] * 4
    # The case is an uneven one: some ranks have nothing left after the first step.
    assert sorted(sum(bool(step["records"]) for step in steps) for steps in steps_of_ranks) == [
        EPOCHS,
        EPOCHS,
        STEPS * EPOCHS,
        STEPS * EPOCHS,
    ]


def test_all_ranks_end_with_equal_weights(example: Run) -> None:
    printed = re.findall(r"rank \d: weights (\w{16})", example.log)
    assert len(printed) == 4
    assert len(set(printed)) == 1


def test_the_loss_falls_and_is_a_metric_of_the_pipeline(example: Run) -> None:
    losses = [float(loss) for loss in re.findall(TRAIN_LOSS.regex, example.hosts[0].log)]
    assert len(losses) == EPOCHS
    assert losses[-1] < losses[0] - 0.4
    assert not re.findall(TRAIN_LOSS.regex, example.hosts[1].log)


def test_only_the_chief_writes_a_model(example: Run) -> None:
    name = {PYTORCH: "model.pt", TENSORFLOW: "model.keras"}[example.framework]
    assert [host.model_files for host in example.hosts] == [[name], []]


@pytest.mark.skipif(sys.platform != "linux", reason="names of threads are read from Linux's /proc")
def test_no_thread_of_gloo_is_left_at_the_end(pytorch: Run) -> None:
    # One that is could meet an interpreter that is half gone, and abort a rank that had succeeded.
    for host in pytorch.hosts:
        assert all("pt_gloo_runloop" in names for names in host.gloo_threads("working"))
        assert host.gloo_threads("left") == [[], []]


def train_pytorch_alone(example: Run) -> NextByte:
    """One process that reads the lines of all ranks in every step."""
    torch.manual_seed(0)
    model = NextByte()
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for step in example.records_of_steps:
        losses = []
        for line in step:
            tokens = encode([line.encode()])
            logits = model(tokens[:, :-1]).squeeze(0)
            losses.append(functional.cross_entropy(logits, tokens[0, 1:], ignore_index=PADDING))
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call] # torch's own
        optimizer.step()
    return model


def test_pytorch_gets_the_weights_of_one_process(pytorch: Run) -> None:
    model = NextByte()
    model.load_state_dict(torch.load(pytorch.hosts[0].base_dir / "model" / "model.pt"))
    assert f"rank 3: weights {fingerprint(model)}" in pytorch.log
    alone = train_pytorch_alone(pytorch).state_dict()
    torch.manual_seed(0)
    untrained = NextByte().state_dict()
    # In float32; with each rank's mean instead, the difference is 0.13.
    for name, tensor in model.state_dict().items():
        assert (tensor - alone[name]).abs().max() < 1e-3
    assert (model.output.bias - untrained["output.bias"]).abs().max() > 0.1


@pytest.fixture(scope="module")
def tensorflow_alone(tensorflow: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    steps = tmp_path_factory.mktemp("alone") / "steps.json"
    steps.write_text(json.dumps(tensorflow.records_of_steps))
    environment = {
        "STEPS": str(steps),
        "MODEL": str(tensorflow.hosts[0].base_dir / "model" / "model.keras"),
        "LEARNING_RATE": str(LEARNING_RATE),
    }
    [report] = run_bare("tests/simulation/programs/example_alone.py", [environment])
    return report


def test_tensorflow_gets_the_weights_of_one_process(tensorflow_alone: dict[str, Any]) -> None:
    # In float32; with each worker's mean instead, the difference is 0.18.
    assert tensorflow_alone["difference"] < 1e-4
    assert tensorflow_alone["moved"] > 0.1


def test_the_vocabulary_is_that_of_all_hosts(tensorflow_alone: dict[str, Any]) -> None:
    counts = Counter(word for record in MAILS for word in record["text"].lower().split())
    assert tensorflow_alone["vocabulary"] == sorted(counts, key=lambda word: (-counts[word], word))


def test_the_saved_keras_model_takes_texts(tensorflow_alone: dict[str, Any]) -> None:
    spam, ham = tensorflow_alone["probabilities"]
    assert spam > 0.7
    assert ham < 0.3
