"""Renders sagemaker-core's pipeline objects into the JSON of a pipeline definition.

`Condition.to_request()` and `TrainingInput.config` hold live objects, so rendering goes all the way
down. Strings pass through untouched: they may hold CDK tokens.
"""

from typing import Any

from infra.pipeline.sdk import Condition, Join, PipelineVariable, Properties

Json = dict[str, Any]


def render(value: object) -> Any:  # noqa: ANN401 - JSON has no closed type
    """Turn a value with sagemaker-core's objects anywhere inside into plain JSON values.

    Raises:
        TypeError: something that JSON cannot hold, with its place.
    """
    return _render(value, "definition")


def as_string(variable: object) -> Join:
    """A number parameter as the text that hyperparameters and arguments must be.

    A bare Get of a number in a string field is rejected. Source: docs/facts.md 6.
    """
    return Join(on="", values=[variable])


def step_property(step_name: str, path: str) -> Properties:
    """A property of a step: a path into its Describe* response, or an output of a Lambda step."""
    return Properties(step_name=step_name, path=path)


def _render(value: object, place: str) -> Any:  # noqa: ANN401 - JSON has no closed type
    match value:
        case PipelineVariable():
            return _render(value.expr, place)
        case Condition():
            return _render(value.to_request(), place)
        case dict():
            return {key: _render(inner, f"{place}.{key}") for key, inner in value.items()}
        case list() | tuple():
            return [_render(inner, f"{place}[{index}]") for index, inner in enumerate(value)]
        case str() | bool() | int() | float():
            return value
        case _:
            raise TypeError(
                f"{place} is {value!r}: a pipeline definition cannot hold {type(value).__name__}. "
                "Allowed: text, numbers, booleans, lists, dictionaries and sagemaker-core's "
                "pipeline variables and conditions. Leave absent values out."
            )
