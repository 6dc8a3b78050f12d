"""How training instances are bought: a choice at synth, since its limits differ by kind."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NVME_FAMILIES = frozenset(
    {"g4dn", "g5", "g6", "g6e", "gr6", "g7", "g7e", "m5d", "c5d", "r5d", "m6id", "c6id", "r6id"}
    | {
        "p3dn",
        "p4d",
        "p4de",
        "p5",
        "p5e",
        "p5en",
        "p6",
        "p6-b200",
        "p6-b300",
        "trn1",
        "trn1n",
        "trn2",
    }
)
"""Families with local disks, where SageMaker rejects VolumeKmsKeyId. Source: docs/facts.md 2, 8."""


class OnDemand(BaseModel):
    """Instances at their usual price, started for each job."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: Literal["on-demand"]


class WarmPool(BaseModel):
    """Instances that wait for the next job, and cost money meanwhile.

    The account's quota for warm pools is 0 until it is raised. Source: docs/facts.md 6.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )

    kind: Literal["warm-pool"]
    keep_alive_s: Annotated[int, Field(ge=1, le=3_600)]
    """Seconds that the instances wait, 1..3600."""


# Spot instances need checkpoints, which the trainers do not write: there is no such kind.
Capacity = Annotated[OnDemand | WarmPool, Field(discriminator="kind")]


def has_local_nvme(instance_type: str) -> bool:
    """Whether an instance type like `ml.g5.12xlarge` has NVMe disks of its own."""
    return instance_type.split(".")[1] in NVME_FAMILIES


def resource_config_extras(capacity: OnDemand | WarmPool) -> dict[str, Any]:
    """What the kind of capacity adds to a training job's ResourceConfig."""
    match capacity:
        case WarmPool(keep_alive_s=keep_alive_s):
            return {"KeepAlivePeriodInSeconds": keep_alive_s}
        case OnDemand():
            return {}
