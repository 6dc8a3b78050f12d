"""Which instances have disks of their own."""

import pytest

from infra.pipeline.capacity import OnDemand, WarmPool, has_local_nvme, resource_config_extras


@pytest.mark.parametrize(
    "name", ["ml.g5.12xlarge", "ml.p4d.24xlarge", "ml.p6-b200.48xlarge", "ml.g4dn.xlarge"]
)
def test_has_nvme(name: str) -> None:
    assert has_local_nvme(name)


@pytest.mark.parametrize("name", ["ml.m5.xlarge", "ml.p3.2xlarge", "ml.c5.large"])
def test_has_no_nvme(name: str) -> None:
    assert not has_local_nvme(name)


def test_only_a_warm_pool_adds_to_the_job() -> None:
    assert resource_config_extras(OnDemand(kind="on-demand")) == {}
    warm_pool = WarmPool(kind="warm-pool", keep_alive_s=60)
    assert resource_config_extras(warm_pool) == {"KeepAlivePeriodInSeconds": 60}
