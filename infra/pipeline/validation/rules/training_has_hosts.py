"""A training step has at least one host.

The service model lets InstanceCount be 0, for jobs whose hosts are in InstanceGroups.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, as_mapping
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import GET

ID: Final = "training-has-hosts"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the host counts of training steps, and the default of a parameter they read."""
    for step in definition.of_kind(TRAINING):
        resources = as_mapping(step.argument("ResourceConfig"))
        count = resources.get("InstanceCount")
        path = f"{step.arguments_path}.ResourceConfig.InstanceCount"
        get = as_mapping(count).get(GET)
        if isinstance(get, str):
            parameter = definition.parameter_by_name.get(get.removeprefix("Parameters."))
            if parameter is None:
                continue
            count, path = parameter.raw.get("DefaultValue"), f"{parameter.path}.DefaultValue"
        if isinstance(count, int) and not isinstance(count, bool) and count < 1:
            yield Problem(
                path=path,
                rule=ID,
                wrong=f"{count} training hosts; allowed: 1 or more",
                fix="Give the number of hosts",
            )
