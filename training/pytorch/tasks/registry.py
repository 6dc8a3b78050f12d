"""Tasks by name: built in, or a class of the user's own."""

import importlib
import inspect
from types import MappingProxyType
from typing import Any, Final

from training.contract.errors import ContractError
from training.contract.hyperparameters import IMAGE_TASK, TEXT_TASK, TrainingHyperparameters
from training.pytorch.task import Task

_BUILT_IN: Final = MappingProxyType(
    {
        TEXT_TASK: "training.pytorch.tasks.text:TextTask",
        IMAGE_TASK: "training.pytorch.tasks.image:ImageTask",
    }
)
"""Imported when wanted: each brings libraries of its own."""


def make_task(settings: TrainingHyperparameters) -> Task[Any]:
    """Make the task that the hyperparameter `task` names.

    Raises:
        ContractError: there is no such module or class, the class is no whole Task, or it refuses
            the hyperparameters.
    """
    module_name, _, class_name = _BUILT_IN.get(settings.task, settings.task).partition(":")
    found = getattr(_import(settings.task, module_name), class_name, None)
    if not (inspect.isclass(found) and issubclass(found, Task)):
        raise ContractError(
            f"Hyperparameter task is {settings.task!r}, but {module_name} has no class "
            f"{class_name} that is a training.pytorch.task.Task. Name one, or one of "
            f"{', '.join(_BUILT_IN)}."
        )
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise ContractError(f"{settings.task} lacks {missing}. Write these methods.")
    task = found(settings)
    if not hasattr(task, "measure"):
        raise ContractError(
            f"{settings.task} has no measure. Set it to TwoClasses(), Classes(count) or "
            "Regression() of training.pytorch.measures."
        )
    return task


def _import(task: str, module_name: str) -> Any:  # noqa: ANN401 - a module of any content
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ContractError(
            f"Hyperparameter task is {task!r}, but there is no module {error.name}. Put the file "
            "below training/, which the image holds, and name it training.<file>:<Class>."
        ) from None
