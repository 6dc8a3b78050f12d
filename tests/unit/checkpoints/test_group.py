import pytest

from tests.unit.checkpoints.rank_threads import on_ranks
from training.checkpoints import Group


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 5000])
def test_statements_of_any_length_reach_all(length: int) -> None:
    def tell(group: Group) -> list[object]:
        return group.tell_all({"rank": group.rank, "text": "é" * (length if group.rank else 3)})

    expected = [{"rank": rank, "text": "é" * (length if rank else 3)} for rank in range(4)]
    assert on_ranks(tell) == [expected] * 4


def test_who_writes_and_who_tidies_up() -> None:
    roles = on_ranks(lambda group: (group.is_chief, group.is_first_of_host))
    assert roles == [(True, True), (False, False), (False, True), (False, False)]
