"""Which host gets which key."""

import pytest

from training.shards.assignment import host_names, round_robin, shuffled

RECORDED_KEYS = [
    f"algo-{folder}/state_algo-{folder}_{number}" for folder in (1, 2) for number in range(1, 11)
]


def test_round_robin_repeats_the_recorded_job() -> None:
    partition = round_robin(RECORDED_KEYS, host_names(2))
    assert partition["algo-1"] == [
        f"algo-{folder}/state_algo-{folder}_{number}"
        for folder in (1, 2)
        for number in (1, 2, 4, 6, 8)
    ]
    assert len(partition["algo-2"]) == 10


def test_round_robin_leaves_the_second_host_of_one_key_empty() -> None:
    assert round_robin(["train/a"], host_names(2)) == {"algo-1": ["train/a"], "algo-2": []}


def test_round_robin_sorts_by_utf8_bytes() -> None:
    keys = ["\U0001f600", "\uff5e", "z", "_10", "_1", "_2"]
    assert round_robin(keys, ["h"])["h"] == sorted(keys, key=lambda key: key.encode())


@pytest.mark.parametrize("count", [1, 2, 3, 7, 12])
def test_every_key_goes_to_exactly_one_host(count: int) -> None:
    keys = [f"part-{number}" for number in range(30)]
    for partition in (
        round_robin(reversed(keys), host_names(count)),
        shuffled(reversed(keys), host_names(count), seed=5),
    ):
        assert list(partition) == [f"algo-{number}" for number in range(1, count + 1)]
        assert sorted(key for share in partition.values() for key in share) == sorted(keys)


def test_shuffled_depends_on_the_seed_and_not_on_the_order() -> None:
    keys = [f"part-{number}" for number in range(30)]
    hosts = host_names(3)
    assert shuffled(keys, hosts, 1) == shuffled(list(reversed(keys)), hosts, 1)
    assert shuffled(keys, hosts, 1) != shuffled(keys, hosts, 2)


def test_shuffled_leaves_hosts_empty_sometimes() -> None:
    assert any([] in shuffled(["a", "b"], host_names(2), seed).values() for seed in range(10))


@pytest.mark.parametrize(
    ("hosts", "said"), [([], "at least 1"), (["algo-1", "algo-1"], "named twice")]
)
def test_refuses_hosts_that_cannot_be(hosts: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        round_robin(["a"], hosts)
    with pytest.raises(ValueError, match=said):
        shuffled(["a"], hosts, 0)


def test_refuses_a_job_without_hosts() -> None:
    with pytest.raises(ValueError, match="0 hosts: a training job needs at least 1"):
        host_names(0)
