"""Changes moto's CloudFormation once per process: more types, and none that it passes over."""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket

from evenshard.emulator.cloudformation.network import SecurityGroupEgressResource
from evenshard.emulator.cloudformation.observability import (
    AlarmResource,
    BudgetResource,
    MetricFilterResource,
    SubscriptionResource,
)
from evenshard.emulator.cloudformation.policies import (
    BucketPolicyResource,
    QueuePolicyResource,
    TopicPolicyResource,
)
from evenshard.emulator.cloudformation.sagemaker import (
    ModelPackageGroupResource,
    PipelineResource,
)

ADDED_TYPES: Final = (
    AlarmResource,
    BucketPolicyResource,
    BudgetResource,
    MetricFilterResource,
    ModelPackageGroupResource,
    PipelineResource,
    QueuePolicyResource,
    SecurityGroupEgressResource,
    SubscriptionResource,
    TopicPolicyResource,
)
"""moto finds them by itself, as subclasses of its own."""
_Result = TypeVar("_Result")


@functools.cache
def teach_cloudformation() -> None:
    """Change moto in this process; a second call does nothing."""
    for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
        cached.cache_clear()
    _refuse_unknown_types()
    _pass_over_conditional_statements()


def unsupported_types(template: Mapping[str, Any]) -> list[str]:
    """The resource types of a template that are not emulated, by name."""
    given = {resource["Type"] for resource in template["Resources"].values()}
    return sorted(given - parsing.get_model_map().keys() - set(parsing.NULL_MODELS))


def _refuse_unknown_types() -> None:
    """Let no stack pass that moto would deploy in part: it only warns of types it does not know."""
    resources = parsing.ResourceMap
    resources.create = _checked(resources.create)  # type: ignore[method-assign] # see above
    resources.update = _checked(resources.update)  # type: ignore[method-assign] # see above


def _checked(method: Callable[..., _Result]) -> Callable[..., _Result]:
    @functools.wraps(method)
    def check_first(
        self: parsing.ResourceMap, template: dict[str, Any], *others: object, **named: object
    ) -> _Result:
        unsupported = unsupported_types(template)
        if unsupported:
            problem = (
                f"The emulator has no resource type {', '.join(unsupported)}. Add it to "
                "evenshard/emulator/cloudformation, or deploy without it."
            )
            raise ValidationError(message=problem)
        return method(self, template, *others, **named)

    return check_first


def _pass_over_conditional_statements() -> None:
    """Ignore statements with a Condition in bucket policies.

    moto enforces bucket policies and does not look at conditions: a statement that denies what
    does not come by TLS would deny everything.
    """

    def get_permission(self: FakeBucket, action: str, resource: str) -> PermissionResult:
        if self.policy is None:
            return PermissionResult.NEUTRAL
        document = json.loads(self.policy)
        document["Statement"] = [one for one in document["Statement"] if "Condition" not in one]
        return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)

    FakeBucket.get_permission = get_permission  # type: ignore[method-assign] # see above
