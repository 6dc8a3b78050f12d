"""CloudFormation intrinsic functions, resolved to well-formed values without an account.

Only what can stand in a definition: references, text functions and imports.
Source: docs/decisions.md 9.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from evenshard.simulator.deployment.resources import (
    ACCOUNT,
    PARTITION,
    REGION,
    Resource,
    attribute_of,
    reference_of,
)
from evenshard.simulator.errors import DefinitionError

_PSEUDO_PARAMETERS: Final[Mapping[str, Any]] = {
    "AWS::AccountId": ACCOUNT,
    "AWS::NotificationARNs": [],
    "AWS::Partition": PARTITION,
    "AWS::Region": REGION,
    "AWS::URLSuffix": "amazonaws.com",
}
_PLACEHOLDER = re.compile(r"\$\{(!?)([^}]+)\}")

Template = Mapping[str, Any]


class Resolver:
    """Resolves values of templates that may refer to each other by exports."""

    def __init__(self, templates: Mapping[str, Template]) -> None:
        """Take all templates of an assembly, by stack name."""
        self._templates = templates
        self._functions: Mapping[str, Callable[[Any, str, str], object]] = {
            "Ref": self._ref,
            "Fn::GetAtt": self._get_att,
            "Fn::ImportValue": self._import_value,
            "Fn::Join": self._join,
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::Sub": self._sub,
        }

    def resolve(self, value: object, stack: str, path: str) -> object:
        """Replace every intrinsic function below a value.

        Args:
            value: from the template of `stack`.
            stack: whose resources and parameters a `Ref` means.
            path: where the value stands, for messages.

        Raises:
            DefinitionError: a function, resource type or export that cannot be resolved.
        """
        if isinstance(value, list):
            return [self.resolve(v, stack, f"{path}[{i}]") for i, v in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            function, operand = next(iter(value.items()))
            if function in self._functions:
                return self._call(function, operand, stack, path)
            if function.startswith("Fn::") or function == "Condition":
                allowed = ", ".join(self._functions)
                raise DefinitionError(path, f"{function} is not supported. Use one of {allowed}.")
        return {name: self.resolve(v, stack, f"{path}.{name}") for name, v in value.items()}

    def _call(self, function: str, operand: object, stack: str, path: str) -> object:
        try:
            return self._functions[function](operand, stack, path)
        except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise DefinitionError(path, f"{function} does not take {operand!r}.") from error

    def text(self, value: object, stack: str, path: str) -> str:
        """Resolve a value that must come out as a string.

        Raises:
            DefinitionError: it does not, or holds what is not supported.
        """
        resolved = self.resolve(value, stack, path)
        if not isinstance(resolved, str):
            raise DefinitionError(path, f"{resolved!r} is not a string, which is needed here.")
        return resolved

    def resource_by_arn(self, arn: str, kind: str) -> tuple[str, Mapping[str, Any]] | None:
        """The stack and the resource of a type whose resolved Arn is `arn`, or None."""
        for stack, template in self._templates.items():
            for logical_id, resource in template.get("Resources", {}).items():
                if resource.get("Type") != kind:
                    continue
                if self._get_att([logical_id, "Arn"], stack, logical_id) == arn:
                    return stack, resource
        return None

    def _ref(self, operand: object, stack: str, path: str) -> object:
        name = str(operand)
        if name == "AWS::StackName":
            return stack
        if name == "AWS::StackId":
            return f"arn:{PARTITION}:cloudformation:{REGION}:{ACCOUNT}:stack/{stack}/local"
        if name in _PSEUDO_PARAMETERS:
            return _PSEUDO_PARAMETERS[name]
        parameter = self._templates[stack].get("Parameters", {}).get(name)
        if parameter is not None:
            if "Default" not in parameter:
                raise DefinitionError(path, f"template parameter {name} has no Default. Add one.")
            return parameter["Default"]
        kind, resource = self._resource(name, stack, path)
        return reference_of(kind, resource, path)

    def _get_att(self, operand: str | list[str], stack: str, path: str) -> object:
        dotted = operand if isinstance(operand, str) else ".".join(operand)
        name, _, attribute = dotted.partition(".")
        kind, resource = self._resource(name, stack, path)
        return attribute_of(kind, attribute, resource, path)

    def _resource(self, name: str, stack: str, path: str) -> tuple[str, Resource]:
        resource = self._templates[stack].get("Resources", {}).get(name)
        if resource is None:
            raise DefinitionError(path, f"stack {stack} has no parameter or resource {name}.")
        named = {
            key: self.resolve(value, stack, f"{path}.{name}.{key}")
            for key, value in resource.get("Properties", {}).items()
            if key.endswith("Name")
        }
        return resource["Type"], Resource(name, stack, named)

    def _import_value(self, operand: object, stack: str, path: str) -> object:
        wanted = self.text(operand, stack, path)
        for exporter, template in self._templates.items():
            for output in template.get("Outputs", {}).values():
                export = output.get("Export", {}).get("Name")
                if export is not None and self.resolve(export, exporter, path) == wanted:
                    return self.resolve(output["Value"], exporter, path)
        raise DefinitionError(path, f"no stack of the assembly exports {wanted!r}.")

    def _join(self, operand: list[Any], stack: str, path: str) -> str:
        separator, parts = operand
        resolved = self.resolve(parts, stack, path)
        if not isinstance(resolved, list):
            raise DefinitionError(path, f"Fn::Join joins a list, not {resolved!r}.")
        return str(separator).join(
            self.text(part, stack, f"{path}[{i}]") for i, part in enumerate(resolved)
        )

    def _select(self, operand: list[Any], stack: str, path: str) -> object:
        index, members = operand
        resolved = self.resolve(members, stack, path)
        if not isinstance(resolved, list) or int(index) >= len(resolved):
            raise DefinitionError(path, f"Fn::Select {index} of {resolved!r} does not exist.")
        return resolved[int(index)]

    def _split(self, operand: list[Any], stack: str, path: str) -> list[str]:
        separator, text = operand
        return self.text(text, stack, path).split(separator)

    def _sub(self, operand: str | list[Any], stack: str, path: str) -> str:
        text, variables = _sub_parts(operand)

        def replace(match: re.Match[str]) -> str:
            literal, name = match.groups()
            if literal:  # `${!X}` stands for the text `${X}`
                return "${" + name + "}"
            if name in variables:
                return self.text(variables[name], stack, path)
            found = (
                self._get_att(name, stack, path) if "." in name else self._ref(name, stack, path)
            )
            return str(found)

        return _PLACEHOLDER.sub(replace, text)


def _sub_parts(operand: str | list[Any]) -> tuple[str, Mapping[str, Any]]:
    if isinstance(operand, str):
        return operand, {}
    return str(operand[0]), operand[1]
