"""Changes moto's CloudFormation once per process: more types, and none that it passes over."""

import functools
from collections.abc import Mapping
from typing import Any, Final

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError

from evenshard.emulator.cloudformation.buckets import complete_buckets
from evenshard.emulator.cloudformation.corrections import correct
from evenshard.emulator.cloudformation.network import (
    SecurityGroupEgressResource,
    allow_rules_without_ports,
    let_networks_go,
)
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


@functools.cache
def teach_cloudformation() -> None:
    """Change moto in this process; a second call does nothing."""
    for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
        cached.cache_clear()
    _refuse_unknown_types()
    correct()
    complete_buckets()
    allow_rules_without_ports()
    let_networks_go()


def unsupported_types(template: Mapping[str, Any]) -> list[str]:
    """The resource types of a template that are not emulated, by name."""
    given = {resource["Type"] for resource in template.get("Resources", {}).values()}
    return sorted(given - parsing.get_model_map().keys() - set(parsing.NULL_MODELS))


def _refuse_unknown_types() -> None:
    """Let no stack pass that moto would deploy in part: it only warns of types it does not know."""
    load, update = parsing.ResourceMap.load, parsing.ResourceMap.update

    @functools.wraps(load)
    def load_known(self: parsing.ResourceMap) -> None:
        _check(self._template)
        load(self)

    @functools.wraps(update)
    def update_known(
        self: parsing.ResourceMap,
        template: dict[str, Any],
        parameters: dict[str, Any] | None = None,
    ) -> None:
        _check(template)
        update(self, template, parameters)

    parsing.ResourceMap.load = load_known  # type: ignore[method-assign] # see above
    parsing.ResourceMap.update = update_known  # type: ignore[method-assign] # see above


def _check(template: Mapping[str, Any]) -> None:
    unsupported = unsupported_types(template)
    if unsupported:
        problem = (
            f"The emulator has no resource type {', '.join(unsupported)}. Add it to "
            "evenshard/emulator/cloudformation, or deploy without it."
        )
        raise ValidationError(message=problem)
