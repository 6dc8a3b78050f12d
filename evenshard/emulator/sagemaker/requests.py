"""Requests, judged by botocore's model of the service as the service itself would judge them."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StringShape, StructureShape
from botocore.validate import ParamValidator

from evenshard.emulator.sagemaker.errors import INVALID, UNKNOWN, ServiceError

Json = dict[str, Any]
_JAVA: Final = r"\p{"
"""Classes of characters that Java knows and Python does not: what has them, tags mostly, is not
held to its pattern."""


@cache
def service_model() -> ServiceModel:
    """The model of SageMaker; reading it takes a second."""
    return botocore.session.get_session().get_service_model("sagemaker")


def check_request(operation: str, request: Json) -> None:
    """Check the parameters of an operation.

    Raises:
        ServiceError: ValidationException, with every parameter that is wrong.
    """
    if operation not in service_model().operation_names:
        raise ServiceError(UNKNOWN, f"SageMaker has no operation {operation!r}.")
    shape = service_model().operation_model(operation).input_shape
    if shape is None:
        return
    report = ParamValidator().validate(request, shape)
    if report.has_errors():
        raise ServiceError(INVALID, report.generate_report())
    broken = list(_broken(request, shape, ""))
    if broken:
        count = f"{len(broken)} validation error{'s' if len(broken) > 1 else ''} detected: "
        raise ServiceError(INVALID, count + "; ".join(broken))


def only(operation: str, request: Mapping[str, Any], supported: tuple[str, ...]) -> None:
    """Refuse what AWS knows and the emulator does not, rather than ignore it.

    Raises:
        ServiceError: ValidationException.
    """
    for name in request:
        if name not in supported:
            raise ServiceError(
                INVALID,
                f"{operation}: the emulator does not support {name}. It supports "
                f"{', '.join(supported)}. Leave it out.",
            )


def _broken(value: Any, shape: Shape, path: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(shape, StructureShape):
        for name, member in value.items():
            yield from _broken(member, shape.members[name], f"{path}.{name}".lstrip("."))
    elif isinstance(shape, ListShape):
        yield from _length(value, shape, path)
        for index, member in enumerate(value):
            yield from _broken(member, shape.member, f"{path}.{index + 1}.member")
    elif isinstance(shape, MapShape):
        yield from _length(value, shape, path)
        for name, member in value.items():
            yield from _broken(member, shape.value, f"{path}.{name}")
    elif isinstance(shape, StringShape):
        yield from _length(value, shape, path)
        yield from _text(value, shape, path)
    else:
        most = shape.metadata.get("max")
        if most is not None and value > most:
            yield f"{_at(value, path)}: Member must have value less than or equal to {most}"


def _length(value: Any, shape: Shape, path: str) -> Iterator[str]:  # noqa: ANN401 - whatever has a length
    most = shape.metadata.get("max")
    if most is not None and len(value) > most:
        yield f"{_at(value, path)}: Member must have length less than or equal to {most}"


def _text(value: str, shape: StringShape, path: str) -> Iterator[str]:
    pattern = shape.metadata.get("pattern", "")
    if shape.enum and value not in shape.enum:
        allowed = ", ".join(shape.enum)
        yield f"{_at(value, path)}: Member must satisfy enum value set: [{allowed}]"
    elif pattern and _JAVA not in pattern and not re.fullmatch(pattern, value, re.DOTALL):
        yield f"{_at(value, path)}: Member must satisfy regular expression pattern: {pattern}"


def _at(value: object, path: str) -> str:
    name = path[:1].lower() + path[1:]
    return f"Value '{value}' at '{name}' failed to satisfy constraint"
