import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.paths import ContainerPaths
from training.pytorch.model_file import save_model
from training.pytorch.task import new_model
from training.pytorch.tasks.text import TextTask
from training.pytorch.tasks.text_bag import BagClassifier
from training.steps.evaluate import main
from training.trainer.model_config import ModelConfig

SMALL = TrainingHyperparameters(hash_buckets=64, embedding_dim=4, hidden_dim=4)
RECORDS = [{"text": f"word{i} and more", "label": int(i % 3 == 0)} for i in range(300)]


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ContainerPaths:
    """A container with a model that says 1 to everything, and a test set of two shards."""
    monkeypatch.setenv("SAGEMAKER_BASE_DIR", str(tmp_path))
    paths = ContainerPaths.from_environment()
    for folder in (paths.processing_input("model"), paths.processing_input("test")):
        folder.mkdir(parents=True)
    write_test_set(paths, "a.jsonl", RECORDS[:299])
    write_test_set(paths, "b.jsonl", RECORDS[299:])
    pack_model(paths)
    return paths


def write_test_set(paths: ContainerPaths, name: str, records: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    (paths.processing_input("test") / name).write_text(text)


def pack_model(paths: ContainerPaths, **changes: object) -> None:
    folder = paths.base_dir / "unpacked"
    model = new_model(TextTask(SMALL))
    assert isinstance(model, BagClassifier)
    torch.nn.init.constant_(model.output.bias, 100.0)
    config = ModelConfig(hyperparameters=SMALL, epochs=3, records=10, data_digest=None)
    save_model(folder, model.state_dict(), config)
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    with tarfile.open(paths.processing_input("model") / "model.tar.gz", "w:gz") as tar:
        tar.add(folder, arcname=".")


def test_writes_evaluation_and_summary(paths: ContainerPaths) -> None:
    assert main(["pytorch"]) == 0
    file = paths.processing_output("evaluation") / "evaluation.json"
    evaluation = json.loads(file.read_text())
    metrics = evaluation["binary_classification_metrics"]
    assert evaluation["records"] == 300
    assert evaluation["quality"] == {"metric": "accuracy", "value": 100 / 300}
    assert metrics["accuracy"]["value"] == 100 / 300
    assert metrics["recall"]["value"] == 1.0
    assert metrics["confusion_matrix"] == {"0": {"0": 0, "1": 200}, "1": {"0": 0, "1": 100}}
    assert paths.message_file.read_text() == (
        "accuracy 0.3333 on 300 test records (precision 0.3333, recall 1.0000, f1 0.5000)"
    )


def assert_fails(
    paths: ContainerPaths, message: str, arguments: tuple[str, ...] = ("pytorch",)
) -> None:
    assert main(arguments) == 1
    said = paths.message_file.read_text()
    assert said.startswith("Evaluation failed: ")
    assert message in said
    assert not (paths.processing_output("evaluation") / "evaluation.json").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"complete": False}, "half trained"),
        (
            {"hyperparameters": {"task": "chess.openings:Chess"}},
            "task is 'chess.openings:Chess', but there is no module chess",
        ),
        ({"framework": "tensorflow"}, "Allowed: pytorch"),
    ],
)
def test_models_that_are_refused(
    paths: ContainerPaths, changes: dict[str, object], message: str
) -> None:
    pack_model(paths, **changes)
    assert_fails(paths, message)


def test_no_archive(paths: ContainerPaths) -> None:
    (paths.processing_input("model") / "model.tar.gz").unlink()
    assert_fails(paths, "model.tar.gz does not exist")


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\x00cut off"])
def test_an_archive_that_is_none(paths: ContainerPaths, content: bytes) -> None:
    (paths.processing_input("model") / "model.tar.gz").write_bytes(content)
    assert_fails(paths, "is not a model archive")


@pytest.mark.parametrize(
    ("name", "kind", "points_to"),
    [
        ("../escaped", tarfile.REGTYPE, ""),
        ("below/../../escaped", tarfile.REGTYPE, ""),
        ("/escaped", tarfile.REGTYPE, ""),
        ("escaped", tarfile.SYMTYPE, "/etc/passwd"),
        ("escaped", tarfile.LNKTYPE, "../config.json"),
        ("escaped", tarfile.FIFOTYPE, ""),
    ],
)
def test_an_archive_that_reaches_outside(
    paths: ContainerPaths, name: str, kind: bytes, points_to: str
) -> None:
    with tarfile.open(paths.processing_input("model") / "model.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, points_to
        tar.addfile(member, io.BytesIO())
    assert_fails(paths, f"{name!r} is no file or folder below the model folder")
    assert not list(paths.base_dir.rglob("escaped"))


def test_no_test_records(paths: ContainerPaths) -> None:
    for shard in paths.processing_input("test").iterdir():
        shard.unlink()
    assert_fails(paths, "holds no records")


def test_a_bad_test_record_is_located(paths: ContainerPaths) -> None:
    write_test_set(paths, "a.jsonl", [{"text": "good", "label": 1}, {"text": "bad"}])
    assert_fails(paths, "a.jsonl, line 2: the record has no label")


@pytest.mark.parametrize("arguments", [(), ("jax",), ("pytorch", "more")])
def test_wrong_arguments(paths: ContainerPaths, arguments: tuple[str, ...]) -> None:
    assert_fails(paths, "Allowed: one of pytorch, tensorflow", arguments)


def test_what_nobody_expected_is_in_the_message_too(
    paths: ContainerPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr("training.pytorch.evaluation.count_predictions", fail)
    with pytest.raises(MemoryError):
        main(["pytorch"])
    assert paths.message_file.read_text() == "Evaluation failed: MemoryError: no memory"


def test_an_evaluation_that_cannot_be_written_is_in_the_message_too(paths: ContainerPaths) -> None:
    folder = paths.processing_output("evaluation")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.touch()  # no folder
    with pytest.raises(OSError, match="evaluation"):
        main(["pytorch"])
    assert paths.message_file.read_text().startswith("Evaluation failed: FileExistsError: ")


def test_weights_that_are_not_finite(paths: ContainerPaths) -> None:
    folder = paths.base_dir / "unpacked"
    weights = load_file(folder / "model.safetensors")
    weights["hidden.bias"][1] = float("nan")
    save_file(weights, folder / "model.safetensors")
    with tarfile.open(paths.processing_input("model") / "model.tar.gz", "w:gz") as tar:
        tar.add(folder, arcname=".")
    assert_fails(paths, "The model's hidden.bias are not finite")
