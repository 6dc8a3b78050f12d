"""The parameters that StartPipelineExecution is given."""

from collections.abc import Sequence
from typing import Any

from evenshard.emulator.sagemaker.errors import INVALID, ServiceError
from evenshard.simulator.pipeline.parameters import Declaration, ParameterError, unknown_parameter

Json = dict[str, Any]


def given_parameters(entries: Sequence[Json], declared: Sequence[Declaration]) -> dict[str, str]:
    """Name -> value, each checked against its declaration.

    Raises:
        ServiceError: one is wrong, given twice or missing.
    """
    by_name = {declaration.name: declaration for declaration in declared}
    given: dict[str, str] = {}
    for entry in entries:
        name, value = entry["Name"], entry["Value"]
        if name not in by_name:
            raise ServiceError(INVALID, unknown_parameter(name, list(by_name)))
        if name in given:
            raise ServiceError(INVALID, f"Parameter {name} is given twice. Give it once.")
        try:
            by_name[name].read(value)
        except ParameterError as error:
            raise ServiceError(INVALID, f"Parameter {error}") from error
        given[name] = value
    missing = [n for n, known in by_name.items() if known.default is None and n not in given]
    if missing:
        raise ServiceError(
            INVALID, f"Parameters without a default are not given: {', '.join(missing)}. Give them."
        )
    return given
