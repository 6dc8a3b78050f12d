"""The built-in tasks, trained by real ranks on uneven hosts; the text task has its own tests."""

import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.digits import digits, tar_shard, write_shard
from tests.simulation.launched import Host, Job, launch
from training.contract.paths import ContainerPaths
from training.steps.evaluate import main as evaluate

pytestmark = pytest.mark.timeout(300)  # torch starts in every rank; two noisy cores

TEST_RECORDS = 360
VALIDATION_RECORDS = 100
DIGITS = {"task": "image", "image_size": "8", "image_colors": "grey", "hidden_dim": "16"}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    """The digits on two uneven hosts: three quarters of the training records on the first."""
    train = digits()[: -TEST_RECORDS - VALIDATION_RECORDS]
    validation = digits()[-TEST_RECORDS - VALIDATION_RECORDS : -TEST_RECORDS]
    done = launch(
        Job(
            folder=tmp_path_factory.mktemp("digits"),
            shards=(
                {"a.tar": tar_shard(train[:600]), "c.tar": tar_shard(train[600:1000], 600)},
                {"b.tar": tar_shard(train[1000:], 1000)},
            ),
            validation={"v.tar": tar_shard(validation)},
            hyperparameters={**DIGITS, "epochs": "12", "batch_size": "8"},
        )
    )
    assert [host.exit_code for host in done] == [0, 0], [host.log for host in done]
    return done


def evaluated(
    host: Host, test_set: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """What the evaluation step writes about the host's model."""
    monkeypatch.setenv("SAGEMAKER_BASE_DIR", str(folder))
    paths = ContainerPaths.from_environment()
    shutil.copytree(test_set, paths.processing_input("test"))
    archive = paths.processing_input("model") / "model.tar.gz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(host.base_dir / "model", arcname=".")
    assert evaluate(["pytorch"]) == 0, paths.message_file.read_text()
    file = paths.processing_output("evaluation") / "evaluation.json"
    evaluation: dict[str, Any] = json.loads(file.read_text())
    return evaluation


def test_digits_are_told_apart(
    hosts: list[Host], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shard(tmp_path / "test" / "t.tar", digits()[-TEST_RECORDS:])
    evaluation = evaluated(hosts[0], tmp_path / "test", tmp_path / "job", monkeypatch)
    assert evaluation["records"] == TEST_RECORDS
    assert evaluation["quality"]["metric"] == "accuracy"
    accuracy = evaluation["multiclass_classification_metrics"]["accuracy"]["value"]
    assert accuracy == evaluation["quality"]["value"]
    assert accuracy >= 0.97


def test_the_chief_reports_every_epoch(hosts: list[Host]) -> None:
    accuracies = re.findall(r"epoch=[0-9]+; .*validation_accuracy=([0-9.]+)", hosts[0].log)
    assert len(accuracies) == 12
    assert float(accuracies[-1]) > float(accuracies[0])
    assert "epoch=" not in hosts[1].log
