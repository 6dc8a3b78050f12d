"""sagemaker-core's pipeline classes, without the rest of sagemaker-core.

Python runs the code of a package before that of a module inside it, and the code of
`sagemaker.core` imports all of the SDK: a class for every request of the API, pandas, SciPy, rich.
A definition needs a dozen small classes and none of that, which was a third of a synth's time. So
the packages on the way are entered without their code. docs/decisions.md 45.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Final

PACKAGES: Final = ("sagemaker", "sagemaker.core", "sagemaker.core.helper")
"""Whose own code is not run; outer ones first."""


@contextmanager
def packages_without_code(*names: str) -> Iterator[None]:
    """Let modules inside packages be imported while the packages' own code is not.

    A package that is imported already stays. The others are forgotten at the end: who imports them
    later gets them whole, and in them the very modules that were imported here.

    Args:
        names: of packages, outer ones first.

    Raises:
        ModuleNotFoundError: one is not installed.
    """
    entered = [name for name in names if name not in sys.modules]
    try:
        for name in entered:
            sys.modules[name] = _without_code(name)
        yield
    finally:
        for name in entered:
            sys.modules.pop(name, None)


def _without_code(name: str) -> ModuleType:
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(
            f"{name} is not installed. It comes with requirements.txt: make install.", name=name
        )
    return module_from_spec(spec)


with packages_without_code(*PACKAGES):
    from sagemaker.core.helper.pipeline_variable import PipelineVariable
    from sagemaker.core.inputs import TrainingInput
    from sagemaker.core.workflow.conditions import Condition, ConditionGreaterThanOrEqualTo
    from sagemaker.core.workflow.execution_variables import ExecutionVariables
    from sagemaker.core.workflow.functions import Join, JsonGet
    from sagemaker.core.workflow.parameters import (
        Parameter,
        ParameterFloat,
        ParameterInteger,
        ParameterString,
    )
    from sagemaker.core.workflow.properties import Properties, PropertyFile

__all__ = [
    "Condition",
    "ConditionGreaterThanOrEqualTo",
    "ExecutionVariables",
    "Join",
    "JsonGet",
    "Parameter",
    "ParameterFloat",
    "ParameterInteger",
    "ParameterString",
    "PipelineVariable",
    "Properties",
    "PropertyFile",
    "TrainingInput",
]
