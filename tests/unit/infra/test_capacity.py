"""How instances are bought, and which have disks of their own."""

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


@pytest.mark.parametrize(
    "name", ["ml.g5.12xlarge", "ml.p4d.24xlarge", "ml.p6-b200.48xlarge", "ml.g4dn.xlarge"]
)
def test_has_nvme(name: str) -> None:
    assert has_local_nvme(name)


@pytest.mark.parametrize("name", ["ml.m5.xlarge", "ml.p3.2xlarge", "ml.c5.large"])
def test_has_no_nvme(name: str) -> None:
    assert not has_local_nvme(name)


JOB = {
    "ResourceConfig": {"InstanceCount": 2},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
}


def test_on_demand_adds_nothing() -> None:
    assert with_capacity(JOB, OnDemand(kind="on-demand")) == JOB


def test_a_warm_pool_keeps_its_instances() -> None:
    assert with_capacity(JOB, WarmPool(kind="warm-pool", keep_alive_s=60)) == {
        **JOB,
        "ResourceConfig": {"InstanceCount": 2, "KeepAlivePeriodInSeconds": 60},
    }


def test_spot_waits() -> None:
    assert with_capacity(JOB, Spot(kind="spot", max_wait_s=7_200)) == {
        **JOB,
        "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 7_200},
        "EnableManagedSpotTraining": True,
    }


@pytest.mark.parametrize(
    ("capacity", "minutes"),
    [
        (OnDemand(kind="on-demand"), 240),
        (WarmPool(kind="warm-pool", keep_alive_s=60), 240),
        (Spot(kind="spot", max_wait_s=90), 1),
        (Spot(kind="spot", max_wait_s=172_800), 2_880),
        (Spot(kind="spot", max_wait_s=10_000_000), 14_400),
    ],
)
def test_who_waits_for_spot_tries_as_long(
    capacity: OnDemand | Spot | WarmPool, minutes: int
) -> None:
    assert patience_min(capacity) == minutes


def test_a_warm_pool_of_spot_instances_cannot_be_written() -> None:
    for values in (
        {"kind": "spot", "max_wait_s": 90, "keep_alive_s": 60},
        {"kind": "warm-pool", "keep_alive_s": 60, "max_wait_s": 90},
    ):
        with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
            TypeAdapter(Capacity).validate_python(values)
