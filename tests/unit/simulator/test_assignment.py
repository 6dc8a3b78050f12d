import pytest

from evenshard.errors import UsageError
from evenshard.simulator.assignment import parse_assignment

HOSTS = ("algo-1", "algo-2", "algo-3")
KEYS = [f"part-{number}" for number in range(10)]


def test_round_robin_is_the_observed_rule() -> None:
    dealt = parse_assignment("round-robin").assign(KEYS, HOSTS)
    assert dealt["algo-1"] == ["part-0", "part-3", "part-6", "part-9"]
    assert dealt["algo-3"] == ["part-2", "part-5", "part-8"]


def test_equal_seeds_draw_equal_partitions() -> None:
    dealt = parse_assignment("random:7").assign(KEYS, HOSTS)
    assert dealt == parse_assignment("random:7").assign(KEYS, HOSTS)
    assert dealt != parse_assignment("random:8").assign(KEYS, HOSTS)
    assert sorted(key for keys in dealt.values() for key in keys) == KEYS


def test_a_draw_without_a_seed_names_the_one_that_repeats_it() -> None:
    drawn = parse_assignment("random")
    assert parse_assignment(drawn.label).assign(KEYS, HOSTS) == drawn.assign(KEYS, HOSTS)


@pytest.mark.parametrize("text", ["", "robin", "round-robin:1", "random:", "random:x", "random:-1"])
def test_refuses_others(text: str) -> None:
    with pytest.raises(UsageError, match="Choose round-robin"):
        parse_assignment(text)
