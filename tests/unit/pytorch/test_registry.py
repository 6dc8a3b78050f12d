import sys
from pathlib import Path

import pytest

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.tasks import make_task
from training.pytorch.tasks.image import ImageTask
from training.pytorch.tasks.text import TextTask

OWN = """
from training.pytorch.measures import Regression
from training.pytorch.task import Task

class Whole(Task):
    measure = Regression()
    def build_model(self): ...
    def encode(self, batch): ...
    def record_losses(self, outputs, inputs): ...
    def predict(self, outputs): ...
    def targets(self, inputs): ...

class Unmeasured(Whole):
    pass
del Whole.measure
class Measured(Whole):
    measure = Regression()
class Half(Task):
    measure = Regression()
    def build_model(self): ...
class Other: ...
"""


@pytest.fixture
def _own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_tasks.py").write_text(OWN)
    (tmp_path / "needs_more.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_tasks", raising=False)


def named(task: str) -> TrainingHyperparameters:
    return TrainingHyperparameters(task=task)


def test_built_in_tasks() -> None:
    assert isinstance(make_task(named("text")), TextTask)
    assert isinstance(make_task(named("image")), ImageTask)


@pytest.mark.usefixtures("_own_module")
def test_a_class_of_ones_own() -> None:
    task = make_task(named("own_tasks:Measured"))
    assert type(task).__name__ == "Measured"
    assert task.settings == named("own_tasks:Measured")


@pytest.mark.usefixtures("_own_module")
@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("no_such_module:A", "there is no module no_such_module"),
        ("training.no_such:A", r"there is no module training\.no_such"),
        ("own_tasks:Missing", "own_tasks has no class Missing that is a training.pytorch"),
        ("own_tasks:Other", "own_tasks has no class Other that is a training.pytorch"),
        ("own_tasks:Half", "own_tasks:Half lacks encode, predict, record_losses, targets"),
        ("own_tasks:Unmeasured", "own_tasks:Unmeasured has no measure"),
    ],
)
def test_what_is_no_task_is_refused(task: str, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        make_task(named(task))


@pytest.mark.usefixtures("_own_module")
def test_a_library_that_is_missing_is_no_wrong_name() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        make_task(named("needs_more:A"))
