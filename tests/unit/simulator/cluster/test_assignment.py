import pytest

from evenshard.errors import UsageError
from evenshard.simulator.cluster.assignment import parse_assignment

HOSTS = ("algo-1", "algo-2", "algo-3")
KEYS = [f"part-{number}" for number in range(10)]


def test_round_robin_is_the_observed_rule() -> None:
    dealt = parse_assignment("round-robin").assign(KEYS, HOSTS, 0)
    assert dealt["algo-1"] == ["part-0", "part-3", "part-6", "part-9"]
    assert dealt["algo-3"] == ["part-2", "part-5", "part-8"]


def test_equal_seeds_draw_equal_partitions() -> None:
    dealt = parse_assignment("random:7").assign(KEYS, HOSTS, 0)
    assert dealt == parse_assignment("random:7").assign(KEYS, HOSTS, 0)
    assert dealt != parse_assignment("random:8").assign(KEYS, HOSTS, 0)
    assert sorted(key for keys in dealt.values() for key in keys) == KEYS


def test_contiguous_gives_every_host_one_stretch() -> None:
    dealt = parse_assignment("contiguous").assign(KEYS[::-1], HOSTS, 0)
    assert list(dealt) == list(HOSTS)
    assert [len(keys) for keys in dealt.values()] == [3, 3, 4]
    assert [key for keys in dealt.values() for key in keys] == KEYS


def test_single_host_leaves_the_chief_without_data() -> None:
    dealt = parse_assignment("single-host").assign(KEYS[::-1], HOSTS, 0)
    assert dealt == {"algo-1": [], "algo-2": [], "algo-3": KEYS}


def test_only_a_random_rule_deals_anew_after_an_interruption() -> None:
    for rule in ("round-robin", "contiguous", "single-host"):
        fixed = parse_assignment(rule)
        assert fixed.assign(KEYS, HOSTS, 1) == fixed.assign(KEYS, HOSTS, 0)
    drawn = parse_assignment("random:7")
    assert drawn.assign(KEYS, HOSTS, 1) != drawn.assign(KEYS, HOSTS, 0)


def test_a_draw_without_a_seed_names_the_one_that_repeats_it() -> None:
    drawn = parse_assignment("random")
    assert parse_assignment(drawn.label).assign(KEYS, HOSTS, 0) == drawn.assign(KEYS, HOSTS, 0)


@pytest.mark.parametrize("text", ["", "robin", "round-robin:1", "random:", "random:x", "random:-1"])
def test_refuses_others(text: str) -> None:
    with pytest.raises(UsageError, match="Choose round-robin"):
        parse_assignment(text)
