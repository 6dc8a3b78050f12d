"""How training instances are bought: a choice at synth, since its limits differ by kind."""

from typing import Annotated, Any, Literal

from pydantic import Field

from infra.section import Section

NVME_FAMILIES = frozenset(
    {"g4dn", "g5", "g6", "g6e", "gr6", "g7", "g7e", "m5d", "c5d", "r5d", "m6id", "c6id", "r6id"}
    | {
        "p3dn",
        "p4d",
        "p4de",
        "p5",
        "p5e",
        "p5en",
        "p6-b200",
        "p6-b300",
        "p6e-gb200",
        "trn1",
        "trn1n",
        "trn2",
    }
)
"""Families with local disks, where SageMaker rejects VolumeKmsKeyId. Source: docs/facts.md 2, 8."""


_MOST_S = 2_147_483_647
"""The service model has 32 bits for it, and names no other limit."""
SOLD_OUT_MIN = 240
MOST_PATIENCE_MIN = 14_400
"""Of a retry policy. Source: docs/facts.md 8."""


LONGEST_JOB_S = 28 * 24 * 3600
MaxPendingSeconds = Annotated[int, Field(ge=1_800, le=LONGEST_JOB_S)]
"""The service model's bounds: half an hour to 28 days."""


class OnDemand(Section):
    """Instances at their usual price, started for each job."""

    kind: Literal["on-demand"]
    max_pending_s: MaxPendingSeconds
    """Seconds that a job may wait for its instances, 1800..2419200. It is for GPU instances."""


class WarmPool(Section):
    """Instances that wait for the next job, and cost money meanwhile.

    The account's quota for warm pools is 0 until it is raised. Source: docs/facts.md 6.
    """

    kind: Literal["warm-pool"]
    keep_alive_s: Annotated[int, Field(ge=1, le=3_600)]
    """Seconds that the instances wait, 1..3600."""
    max_pending_s: MaxPendingSeconds
    """Seconds that a job may wait for its instances, 1800..2419200. It is for GPU instances."""


class Spot(Section):
    """Spare instances at a lower price, which may be taken away at any time.

    SageMaker then waits for others and starts the job again, which goes on from its checkpoint.
    How long in all is `max_wait_s`; a second limit on the same waiting could only contradict it.
    """

    kind: Literal["spot"]
    max_wait_s: Annotated[int, Field(ge=60, le=_MOST_S)]
    """Seconds for waiting and running together; the job's max_runtime_s or more."""


AnyCapacity = OnDemand | Spot | WarmPool
Capacity = Annotated[AnyCapacity, Field(discriminator="kind")]
"""Keep-alive with spot cannot be written: SageMaker refuses it."""


def has_local_nvme(instance_type: str) -> bool:
    """Whether an instance type like `ml.g5.12xlarge` has NVMe disks of its own."""
    return instance_type.split(".")[1] in NVME_FAMILIES


def patience_min(capacity: AnyCapacity) -> int:
    """Minutes to go on trying while instances are sold out, 1..14400.

    Whoever gave spot jobs a time to wait has said it; others wait half a working day.
    """
    match capacity:
        case Spot(max_wait_s=max_wait_s):
            return min(max_wait_s // 60, MOST_PATIENCE_MIN)
        case _:
            return SOLD_OUT_MIN


def with_capacity(job: dict[str, Any], capacity: AnyCapacity) -> dict[str, Any]:
    """A training job's arguments with what the kind of capacity adds to them.

    Args:
        job: with ResourceConfig and StoppingCondition.
        capacity: how its instances are bought.
    """
    match capacity:
        case OnDemand(max_pending_s=max_pending_s):
            return _stopped_by(job, MaxPendingTimeInSeconds=max_pending_s)
        case WarmPool(keep_alive_s=keep_alive_s, max_pending_s=max_pending_s):
            waiting = {"KeepAlivePeriodInSeconds": keep_alive_s}
            return {
                **_stopped_by(job, MaxPendingTimeInSeconds=max_pending_s),
                "ResourceConfig": {**job["ResourceConfig"], **waiting},
            }
        case Spot(max_wait_s=max_wait_s):
            return {
                **_stopped_by(job, MaxWaitTimeInSeconds=max_wait_s),
                "EnableManagedSpotTraining": True,
            }


def _stopped_by(job: dict[str, Any], **limit_s: int) -> dict[str, Any]:
    return {**job, "StoppingCondition": {**job["StoppingCondition"], **limit_s}}
