import pytest

from evenshard.commands.numbers import number, whole_number
from evenshard.errors import UsageError
from evenshard.simulator.limits import MOST_HOSTS


@pytest.mark.parametrize("text", ["0", "65", "abc", "2.5", "", "nan"])
def test_whole_numbers_elsewhere_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as error:
        whole_number("--hosts", least=1, most=MOST_HOSTS)(text)
    assert str(error.value) == (
        f"--hosts {text} is not allowed. It takes a whole number, 1 to 64. Give, say, --hosts 1."
    )


@pytest.mark.parametrize("text", ["-0.1", "9", "abc", "nan", "inf"])
def test_numbers_elsewhere_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as error:
        number("--skew", least=0, most=4)(text)
    assert str(error.value) == (
        f"--skew {text} is not allowed. It takes a number, 0 to 4. Give, say, --skew 1."
    )


def test_the_ends_of_a_range_belong_to_it() -> None:
    hosts = whole_number("--hosts", least=1, most=64)
    assert (hosts("1"), hosts("64")) == (1, 64)
    skew = number("--skew", least=0, most=4)
    assert (skew("0"), skew("4"), skew("0.5")) == (0.0, 4.0, 0.5)


def test_no_upper_end() -> None:
    shards = whole_number("--shards", least=1)
    assert shards("1000000") == 1_000_000
    with pytest.raises(UsageError, match="a whole number, 1 or more"):
        shards("0")
