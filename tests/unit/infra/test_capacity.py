"""How instances are bought, and which have disks of their own."""

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from infra.pipeline.capacity import (
    Capacity,
    OnDemand,
    Spot,
    WarmPool,
    has_local_nvme,
    patience_min,
    with_capacity,
)
from infra.pipeline.validation.service_model import instance_types, service_model


@pytest.mark.parametrize(
    "name", ["ml.g5.12xlarge", "ml.p4d.24xlarge", "ml.p6-b200.48xlarge", "ml.g4dn.xlarge"]
)
def test_has_nvme(name: str) -> None:
    assert has_local_nvme(name)


@pytest.mark.parametrize("name", ["ml.m5.xlarge", "ml.p3.2xlarge", "ml.c5.large"])
def test_has_no_nvme(name: str) -> None:
    assert not has_local_nvme(name)


EBS_ONLY = re.compile(r"[cmr][4-9][a-z]?(-flex)?|c5n|p2|p3|t3")
"""Families of EC2 without instance store, by its table of instance types."""


@pytest.mark.parametrize("kind", ["Training", "Processing"])
def test_every_family_of_the_service_is_known_by_its_disks(kind: str) -> None:
    for name in instance_types(kind):
        family = name.split(".")[1]
        # A `d` in the name is an instance store.
        assert has_local_nvme(name) is not bool(
            EBS_ONLY.fullmatch(family) and not family.endswith("d")
        ), f"{family} is new: say in infra/pipeline/capacity.py whether it has disks of its own"


JOB = {
    "ResourceConfig": {"InstanceCount": 2},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
}


ON_DEMAND = OnDemand(kind="on-demand", max_pending_s=3_600)
WARM_POOL = WarmPool(kind="warm-pool", keep_alive_s=60, max_pending_s=3_600)
WAITING = {"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 3_600}


def test_on_demand_waits_so_long() -> None:
    assert with_capacity(JOB, ON_DEMAND) == {**JOB, "StoppingCondition": WAITING}


def test_a_warm_pool_keeps_its_instances() -> None:
    assert with_capacity(JOB, WARM_POOL) == {
        **JOB,
        "ResourceConfig": {"InstanceCount": 2, "KeepAlivePeriodInSeconds": 60},
        "StoppingCondition": WAITING,
    }


def test_pending_has_the_service_s_bounds() -> None:
    shape = service_model().shape_for("MaxPendingTimeInSeconds")
    bounds = {"ge": shape.metadata["min"], "le": shape.metadata["max"]}
    for kind in (OnDemand, WarmPool):
        [least, most] = kind.model_fields["max_pending_s"].metadata
        assert {"ge": least.ge, "le": most.le} == bounds


def test_spot_waits() -> None:
    assert with_capacity(JOB, Spot(kind="spot", max_wait_s=7_200)) == {
        **JOB,
        "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 7_200},
        "EnableManagedSpotTraining": True,
    }


@pytest.mark.parametrize(
    ("capacity", "minutes"),
    [
        (ON_DEMAND, 240),
        (WARM_POOL, 240),
        (Spot(kind="spot", max_wait_s=90), 1),
        (Spot(kind="spot", max_wait_s=172_800), 2_880),
        (Spot(kind="spot", max_wait_s=10_000_000), 14_400),
    ],
)
def test_who_waits_for_spot_tries_as_long(
    capacity: OnDemand | Spot | WarmPool, minutes: int
) -> None:
    assert patience_min(capacity) == minutes


def test_spot_jobs_have_one_limit_on_waiting() -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        TypeAdapter(Capacity).validate_python(
            {"kind": "spot", "max_wait_s": 90, "max_pending_s": 3_600}
        )


def test_a_warm_pool_of_spot_instances_cannot_be_written() -> None:
    for values in (
        {"kind": "spot", "max_wait_s": 90, "keep_alive_s": 60},
        {"kind": "warm-pool", "keep_alive_s": 60, "max_pending_s": 3_600, "max_wait_s": 90},
    ):
        with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
            TypeAdapter(Capacity).validate_python(values)
