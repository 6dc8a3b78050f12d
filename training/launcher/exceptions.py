"""How a rank that no torchrun watches leaves its exception for the launcher."""

import json
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

FILE_VARIABLE: Final = "EVENSHARD_EXCEPTION_FILE"
"""Names the file that a rank writes its exception to."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def recorded(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Have a function write the exception that ends it to the file of this rank, if it has one."""

    @wraps(function)
    def recording(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            record_exception(error)
            raise

    return recording


def record_exception(error: Exception) -> None:
    """Write an exception in the form that `diagnosis` reads."""
    named = os.environ.get(FILE_VARIABLE)
    if named is not None:
        text = f"{type(error).__name__}: {error}"
        Path(named).write_text(json.dumps({"message": text}), encoding="utf-8")
