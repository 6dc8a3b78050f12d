from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.trainer.ranks import check_gpus_used, check_world

HOSTS = ("algo-1", "algo-2")


@dataclass
class Rank:
    """One rank, which hears what all say: host, local rank, ranks of the host."""

    said: Sequence[tuple[int, int, int]]
    rank: int = 0
    local_rank: int = 0

    @property
    def world_size(self) -> int:
        return len(self.said)

    @property
    def local_world_size(self) -> int:
        return self.said[0][2]

    def all_gather(self, numbers: Sequence[int]) -> list[list[int]]:
        assert list(numbers) == list(self.said[0])
        return [list(of_rank) for of_rank in self.said]


def cluster(*hosts: str) -> Cluster:
    return Cluster(hosts=hosts, current_host=hosts[0], network_interface_name="lo")


@pytest.mark.parametrize(
    ("said", "hosts"),
    [
        ([(0, 0, 1)], HOSTS[:1]),
        ([(0, 0, 2), (0, 1, 2), (1, 0, 2), (1, 1, 2)], HOSTS),
        ([(0, 0, 1), (1, 0, 1)], HOSTS),
    ],
)
def test_as_many_ranks_on_each_host_pass(
    said: Sequence[tuple[int, int, int]], hosts: Sequence[str]
) -> None:
    check_world(Rank(said), cluster(*hosts))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # A count that was overridden on one host.
        ([(0, 0, 2), (0, 1, 2), (1, 0, 1)], "3 ranks on 2 hosts: algo-1 has 2, algo-2 has 1."),
        # torchrun by hand on one of the two hosts that resourceconfig.json lists.
        ([(0, 0, 2), (0, 1, 2)], "2 ranks on 2 hosts: algo-1 has 2, algo-2 has 0."),
        # Both started as if they were the same host.
        ([(0, 0, 1), (0, 0, 1)], "2 ranks on 2 hosts: algo-1 has 2, algo-2 has 0."),
        # Two jobs that each take themselves for the whole one.
        ([(0, 0, 4), (0, 1, 4), (1, 0, 4), (1, 1, 4)], "4 ranks on 2 hosts: algo-1 has 2"),
    ],
)
def test_another_number_of_ranks_is_named(said: Sequence[tuple[int, int, int]], told: str) -> None:
    with pytest.raises(ContractError) as caught:
        check_world(Rank(said), cluster(*HOSTS))
    assert told in str(caught.value)
    assert "Allowed: hosts x devices" in str(caught.value)


GPUS_COUNTED = {"SM_NUM_GPUS": "4"}


def test_gpus_that_the_library_cannot_use_are_not_passed_over() -> None:
    with pytest.raises(ContractError, match="This host has 4 GPUs, but torch can use none of them"):
        check_gpus_used("torch", uses_one=False, environment=GPUS_COUNTED)


@pytest.mark.parametrize(
    ("environment", "uses_one"),
    [
        (GPUS_COUNTED, True),
        ({"SM_NUM_GPUS": "0"}, False),
        ({}, False),  # started by hand
        ({**GPUS_COUNTED, "CUDA_VISIBLE_DEVICES": ""}, False),  # hidden on purpose
    ],
)
def test_processors_may_be_asked_for(environment: dict[str, str], *, uses_one: bool) -> None:
    check_gpus_used("torch", uses_one=uses_one, environment=environment)
