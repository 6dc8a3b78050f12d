"""Where moto's CloudFormation and bucket policies behave unlike the services; changed once.

Each correction names what moto 5.2.5 does; docs/emulator.md lists them with what is left.
"""

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import CloudFormationBackend, Stack
from moto.cloudformation.parsing import OutputMap, ResourceMap
from moto.core.exceptions import ServiceException
from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.iam.models import Role
from moto.kms.models import Key, KmsBackend
from moto.logs.models import LogGroup
from moto.s3.models import FakeBucket

_KEPT: Final = ("Retain", "RetainExceptOnCreate")
_Result = TypeVar("_Result")


def correct() -> None:
    """Apply every correction."""
    # Each replaces a method of moto's, which is what a correction of a library is.
    CloudFormationBackend.create_stack = _undone_on_failure(  # type: ignore[method-assign] # above
        CloudFormationBackend.create_stack
    )
    CloudFormationBackend.update_stack = _exporting(  # type: ignore[method-assign] # above
        CloudFormationBackend.update_stack
    )
    CloudFormationBackend.delete_stack = _kept_on_failure(  # type: ignore[method-assign] # above
        CloudFormationBackend.delete_stack
    )
    CloudFormationBackend._resolve_update_parameters = _defaulting(  # type: ignore[method-assign] # noqa: SLF001 - above
        CloudFormationBackend._resolve_update_parameters  # noqa: SLF001 - above
    )
    parsing.clean_json = _with_zones(parsing.clean_json)
    KmsBackend.create_key = _with_policy_text(KmsBackend.create_key)  # type: ignore[method-assign] # above
    Role.put_policy = _with_document_text(Role.put_policy)  # type: ignore[method-assign] # above
    LogGroup.get_cfn_attribute = _of_streams(  # type: ignore[method-assign] # above
        LogGroup.get_cfn_attribute
    )
    ResourceMap.update = _explained(ResourceMap.update)  # type: ignore[method-assign] # above
    ResourceMap.delete = _keeping(ResourceMap.delete)  # type: ignore[method-assign] # above
    Stack.delete = _without_outputs(Stack.delete)  # type: ignore[method-assign] # above
    FakeBucket.get_permission = _permission  # type: ignore[method-assign] # above


def _undone_on_failure(create_stack: Callable[..., Stack]) -> Callable[..., Stack]:
    """Leave nothing of a stack that cannot be created: moto keeps it, half made."""

    @functools.wraps(create_stack)
    def create(self: CloudFormationBackend, name: str, *others: object, **named: object) -> Stack:
        before = set(self.stacks)
        try:
            with _as_problem(name):
                return create_stack(self, name, *others, **named)
        except ServiceException:
            for stack_id in set(self.stacks) - before:
                half_made = self.stacks.pop(stack_id)
                # What refuses to go must not hide why the stack failed.
                with suppress(ServiceException):
                    half_made.delete()
                for export, owner in list(self.exports.items()):
                    if owner.exporting_stack_id == stack_id:
                        del self.exports[export]
            raise

    return create


def _kept_on_failure(delete_stack: Callable[..., None]) -> Callable[..., None]:
    """Keep a stack that cannot be deleted, with what is left of it: moto forgets it."""

    @functools.wraps(delete_stack)
    def delete(self: CloudFormationBackend, name_or_stack_id: str) -> None:
        stack = self.stacks.get(name_or_stack_id)
        try:
            with _as_problem(name_or_stack_id):
                delete_stack(self, name_or_stack_id)
        except ServiceException as error:
            if stack is None:
                raise
            _keep_rest(self, stack, str(error.message))

    return delete


def _keep_rest(backend: CloudFormationBackend, stack: Stack, reason: str) -> None:
    backend.stacks[stack.stack_id] = stack
    left = stack.resource_map
    # moto makes what it is asked for and does not find.
    left._resource_json_map = {  # noqa: SLF001 - above
        name: resource
        for name, resource in left._resource_json_map.items()  # noqa: SLF001 - above
        if name in left._parsed_resources  # noqa: SLF001 - above
    }
    stack.output_map = OutputMap(left, {}, stack.stack_id)
    for name, export in list(backend.exports.items()):
        if export.exporting_stack_id == stack.stack_id:
            del backend.exports[name]
    stack.status = "DELETE_FAILED"
    stack._add_stack_event(stack.status, resource_status_reason=reason)  # noqa: SLF001 - above


def _exporting(update_stack: Callable[..., Stack]) -> Callable[..., Stack]:
    """Export what an updated template exports: moto exports what the first one did."""

    @functools.wraps(update_stack)
    def update(self: CloudFormationBackend, *others: object, **named: object) -> Stack:
        stack = update_stack(self, *others, **named)
        for name, export in list(self.exports.items()):
            if export.exporting_stack_id == stack.stack_id:
                del self.exports[name]
        self.exports.update({export.name: export for export in stack.exports})
        return stack

    return update


def _defaulting(resolve: Callable[..., dict[str, str]]) -> Callable[..., dict[str, str]]:
    """Keep the default of a parameter that keeps its value: moto answers 500 to that."""

    @functools.wraps(resolve)
    def keep(
        self: CloudFormationBackend, instance: Stack, incoming_params: list[dict[str, Any]]
    ) -> dict[str, str]:
        given = [
            one
            for one in incoming_params
            if not one.get("UsePreviousValue") or one["ParameterKey"] in instance.parameters
        ]
        return resolve(self, instance, given)

    return keep


def _with_zones(clean_json: Callable[..., Any]) -> Callable[..., Any]:
    """Name the zones of a region that is a reference: moto takes the reference for the name."""

    @functools.wraps(clean_json)
    def clean(value: Any, resources_map: ResourceMap) -> Any:  # noqa: ANN401 - moto's
        match value:
            case {"Fn::GetAZs": dict(region)}:
                value = {"Fn::GetAZs": clean_json(region, resources_map)}
        return clean_json(value, resources_map)

    return clean


def _with_policy_text(create_key: Callable[..., Key]) -> Callable[..., Key]:
    """Keep a key's policy as text: moto keeps the template's object and cannot read it later."""

    @functools.wraps(create_key)
    def create(self: KmsBackend, policy: Any, *others: object, **named: object) -> Key:  # noqa: ANN401 - moto's
        text = json.dumps(policy) if isinstance(policy, dict) else policy
        return create_key(self, text, *others, **named)

    return create


def _with_document_text(put_policy: Callable[..., None]) -> Callable[..., None]:
    """Keep a role's policy as JSON: moto keeps the template's object, and shows it as Python."""

    @functools.wraps(put_policy)
    def put(self: Role, policy_name: str, policy_json: Any) -> None:  # noqa: ANN401 - moto's
        text = json.dumps(policy_json) if isinstance(policy_json, dict) else policy_json
        put_policy(self, policy_name, text)

    return put


def _of_streams(get_attribute: Callable[..., str]) -> Callable[..., str]:
    """Let a log group's ARN end in `:*`, as CloudFormation gives it: policies name its streams."""

    @functools.wraps(get_attribute)
    def get(self: LogGroup, attribute_name: str) -> str:
        value = get_attribute(self, attribute_name)
        return f"{value}:*" if attribute_name == "Arn" and not value.endswith(":*") else value

    return get


def _explained(update: Callable[..., _Result]) -> Callable[..., _Result]:
    """Answer a failed update with the reason: moto answers 500, which every client repeats."""

    @functools.wraps(update)
    def explain(self: ResourceMap, *others: object, **named: object) -> _Result:
        with _as_problem(str(self["AWS::StackName"])):
            return update(self, *others, **named)

    return explain


@contextmanager
def _as_problem(stack: str) -> Iterator[None]:
    try:
        yield
    except ServiceException:
        raise
    except Exception as error:
        problem = f"{stack}: {type(error).__name__}: {error}"
        raise ValidationError(message=problem) from error


def _keeping(delete: Callable[..., None]) -> Callable[..., None]:
    """Keep what RetainExceptOnCreate keeps as well: moto knows Retain only."""

    @functools.wraps(delete)
    def keep(self: ResourceMap) -> None:
        self._resource_json_map = {
            name: {**resource, "DeletionPolicy": "Retain"}
            if resource.get("DeletionPolicy") in _KEPT
            else resource
            for name, resource in self._resource_json_map.items()
        }
        delete(self)

    return keep


def _without_outputs(delete: Callable[..., None]) -> Callable[..., None]:
    """Give a deleted stack no outputs: moto makes the resources anew to answer with them."""

    @functools.wraps(delete)
    def forget(self: Stack) -> None:
        delete(self)
        self.output_map = OutputMap(self.resource_map, {}, self.stack_id)

    return forget


def _permission(self: FakeBucket, action: str, resource: str) -> Any:  # noqa: ANN401 - moto's
    """Judge by the statements without a Condition.

    moto enforces bucket policies and does not look at conditions: a statement that denies what
    does not come by TLS would deny everything.
    """
    if self.policy is None:
        return PermissionResult.NEUTRAL
    document = json.loads(self.policy)
    document["Statement"] = [one for one in document["Statement"] if "Condition" not in one]
    return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)
