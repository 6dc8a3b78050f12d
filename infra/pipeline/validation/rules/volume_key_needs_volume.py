"""No volume key on instance types whose storage is local NVMe.

They have no EBS volume to encrypt: CreateTrainingJob and CreateProcessingJob refuse the key.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.capacity import has_local_nvme
from infra.pipeline.validation.document import (
    PROCESSING,
    TRAINING,
    Definition,
    as_list,
    as_mapping,
)
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import GET
from infra.pipeline.validation.wording import listing

ID: Final = "volume-key-needs-volume"
CLUSTERS: Final = (
    (TRAINING, ("ResourceConfig",)),
    (PROCESSING, ("ProcessingResources", "ClusterConfig")),
)


def check(definition: Definition) -> Iterator[Problem]:
    """Judge clusters that have a volume key."""
    for kind, place in CLUSTERS:
        for step in definition.of_kind(kind):
            cluster = as_mapping(step.argument(*place))
            types = _instance_types(definition, cluster.get("InstanceType"))
            local = [name for name in types if name.count(".") > 1 and has_local_nvme(name)]
            if "VolumeKmsKeyId" in cluster and local:
                yield Problem(
                    path=".".join([step.arguments_path, *place, "VolumeKmsKeyId"]),
                    rule=ID,
                    wrong=f"a volume key, but {listing(local)} can be chosen, which have local "
                    "NVMe storage and no volume; allowed: a key for types with a volume only",
                    fix="Remove VolumeKmsKeyId, or these instance types",
                )


def _instance_types(definition: Definition, value: object) -> list[str]:
    """The types that may be chosen: the literal, or default and choices of the parameter."""
    get = as_mapping(value).get(GET)
    if isinstance(get, str):
        parameter = definition.parameter_by_name.get(get.removeprefix("Parameters."))
        raw = parameter.raw if parameter else {}
        candidates = [raw.get("DefaultValue"), *as_list(raw.get("EnumValues"))]
    else:
        candidates = [value]
    return list(dict.fromkeys(item for item in candidates if isinstance(item, str)))
