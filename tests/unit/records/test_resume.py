import itertools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.records.host_data import (
    Ranks,
    host_loaders,
    ids_of,
    numbered,
    write_shards,
)
from training.records import (
    EpochPlan,
    LoaderSettings,
    RecordError,
    RecordLoader,
    StateError,
)

SHARDS = {
    "a.jsonl": numbered(40),
    "deep/b.jsonl": numbered(30, first=40),
    "c.jsonl": numbered(50, first=70),
}


def _settings(**changes: Any) -> LoaderSettings:  # noqa: ANN401 - any of the settings
    return LoaderSettings(
        **{"batch_size": 4, "seed": 3, "block_bytes": 128, "window_blocks": 4} | changes
    )


def _host(folder: Path, *names: str, parts: int = 1, **changes: Any) -> list[RecordLoader]:  # noqa: ANN401 - any of the settings
    write_shards(folder, {name: SHARDS[name] for name in names})
    return host_loaders(folder, _settings(**changes), parts=parts)


def _stopped(
    hosts: list[list[RecordLoader]], batches: int, epoch: int = 1
) -> tuple[list[dict[str, Any]], list[int]]:
    """Take some batches on each rank; return the states and the ids of the records used."""
    states, used = [], []
    for loader in [loader for loaders in hosts for loader in loaders]:
        begun = loader.epoch(epoch)
        for _ in range(batches):
            used += [record["id"] for record in next(begun).records]
        states.append(json.loads(json.dumps(loader.state_dict())))
    return states, used


def _resume(hosts: list[list[RecordLoader]], states: list[dict[str, Any]]) -> list[Any]:
    ranks = Ranks(hosts)
    for loader in ranks.loaders:
        loader.load_state_dict(states)
    outcomes = ranks.agree(1)
    assert len(set(ranks.collectives)) == 1
    return outcomes


def test_other_hosts_and_ranks_use_what_is_left(tmp_path: Path) -> None:
    before = [
        _host(tmp_path / "0", "a.jsonl", "c.jsonl", parts=2),
        _host(tmp_path / "1", "deep/b.jsonl", parts=2),
    ]
    states, used = _stopped(before, 3)
    assert len(used) == 48
    after = [
        _host(tmp_path / "2", "c.jsonl", parts=3),
        _host(tmp_path / "3", "a.jsonl", "deep/b.jsonl", parts=3),
        _host(tmp_path / "4", parts=3),
    ]
    (plan, *others) = _resume(after, states)
    assert isinstance(plan, EpochPlan)
    assert others == [plan] * 8
    assert sum(plan.counts) == 120 - 48
    rest = [number for loaders in after for number in ids_of(loaders, 1)]
    assert sorted(used + rest) == list(range(120))
    # A whole epoch follows.
    assert sorted(n for loaders in after for n in ids_of(loaders, 2)) == list(range(120))


def test_a_host_that_kept_its_shards_goes_on_in_place_beside_others(tmp_path: Path) -> None:
    kept = _host(tmp_path / "0", "a.jsonl")
    whole = ids_of(kept, 1)
    before = [kept, _host(tmp_path / "1", "c.jsonl"), _host(tmp_path / "2", "deep/b.jsonl")]
    states, used = _stopped(before, 2)
    after = [_host(tmp_path / "3", "a.jsonl"), _host(tmp_path / "4", "c.jsonl", "deep/b.jsonl")]
    _resume(after, states)
    assert ids_of(after[0], 1) == whole[8:]
    assert sorted(used + ids_of(after[0], 1) + ids_of(after[1], 1)) == list(range(120))


def test_new_shards_wait_for_the_next_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    states, used = _stopped([_host(tmp_path / "0", "a.jsonl", "c.jsonl")], 5)
    after = [_host(tmp_path / "1", "a.jsonl", "c.jsonl", "deep/b.jsonl")]
    with caplog.at_level(logging.WARNING):
        _resume(after, states)
    assert caplog.messages == [
        "deep/b.jsonl: not part of the interrupted epoch, so used from the next one on"
    ]
    rest = ids_of(after[0], 1)
    assert sorted(used + rest) == [*range(40), *range(70, 120)]
    assert sorted(ids_of(after[0], 2)) == list(range(120))
    # They also wait when this part of the epoch is interrupted in turn.
    again, more = _stopped(after, 2)
    last = [_host(tmp_path / "2", "deep/b.jsonl", "c.jsonl"), _host(tmp_path / "3", "a.jsonl")]
    _resume(last, again)
    rest = [number for loaders in last for number in ids_of(loaders, 1)]
    assert sorted(used + more + rest) == [*range(40), *range(70, 120)]


def test_all_ranks_refuse_shards_that_are_gone_or_changed_by_name(tmp_path: Path) -> None:
    states, _ = _stopped([_host(tmp_path / "0", "a.jsonl", "c.jsonl", "deep/b.jsonl")], 2)
    changed = write_shards(tmp_path / "1", {"a.jsonl": numbered(39)})
    after = [
        host_loaders(changed, _settings(), parts=2),
        _host(tmp_path / "2", "c.jsonl", parts=2),
    ]
    outcomes = _resume(after, states)
    assert all(isinstance(outcome, StateError) for outcome in outcomes)
    (message,) = {str(outcome) for outcome in outcomes}
    assert message.startswith(
        "The interrupted epoch cannot be ended. deep/b.jsonl: held by no host; a.jsonl: of another"
        " size than before. Put the shards back"
    )


def test_alone_too_a_loader_refuses_shards_that_are_gone(tmp_path: Path) -> None:
    states, _ = _stopped([_host(tmp_path / "0", "a.jsonl", "c.jsonl")], 2)
    (loader,) = _host(tmp_path / "1", "a.jsonl")
    loader.load_state_dict(states)
    with pytest.raises(StateError, match=r"c\.jsonl: held by no host"):
        loader.epoch(1)
    assert len(list(loader.epoch(2))) == 10


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"seed": 4}, "seed=3, not 4"),
        ({"shuffle": False}, "shuffle=True, not False"),
        ({"window_blocks": 5}, "window_blocks=4, not 5"),
        ({"block_bytes": 100}, "block_bytes=128, not 100"),
        ({"count": False}, "count=True, not False"),
        ({"format": "lines", "output": "bytes"}, "format=json_lines, not lines"),
    ],
)
def test_refuses_settings_that_make_another_order(
    tmp_path: Path, changes: dict[str, Any], shown: str
) -> None:
    states, _ = _stopped([_host(tmp_path / "0", "a.jsonl")], 2)
    (loader,) = _host(tmp_path / "1", "a.jsonl", **changes)
    with pytest.raises(StateError, match=f"The interrupted epoch was read with {shown}: its order"):
        loader.load_state_dict(states)


def test_another_batch_size_is_no_matter(tmp_path: Path) -> None:
    (loader,) = _host(tmp_path / "0", "a.jsonl")
    whole = ids_of([loader], 1)
    states, _ = _stopped([[loader]], 3)
    (again,) = _host(tmp_path / "1", "a.jsonl", batch_size=7)
    again.load_state_dict(states)
    assert ids_of([again], 1) == whole[12:]


def test_refuses_states_that_are_not_of_one_checkpoint(tmp_path: Path) -> None:
    loaders = _host(tmp_path / "0", "a.jsonl", parts=3)
    states, _ = _stopped([loaders], 1)
    later, _ = _stopped([loaders], 1, epoch=2)
    other, _ = _stopped([_host(tmp_path / "1", "a.jsonl", "c.jsonl", parts=2)], 1)
    (host,) = _host(tmp_path / "2", "a.jsonl")
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([], "No states were given"),
        ([*states[:2], later[2]], "The states are of epochs 1 and 2"),
        (states[:2], "held a.jsonl, the states of the parts 0 of 3, 1 of 3 were given"),
        ([*states, states[1]], "the states of the parts 0 of 3, 1 of 3, 2 of 3, 1 of 3 were given"),
        ([*states, *other], "The states say that two hosts held a.jsonl"),
    ]
    for given, message in cases:
        with pytest.raises(StateError, match=message):
            host.load_state_dict(given)


def _drop(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda state: state.pop(name)


def _put(name: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda state: state.update({name: value})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_drop("first"), "is damaged .KeyError: 'first'"),
        (_put("now", [1]), "is damaged"),
        (_put("shards", [["a.jsonl", "x", 3]]), "is damaged"),
        (_put("used_blocks", "x"), "is damaged"),
        (_put("used_records", {"1": [99, "eJxjYAAAAAIAAQ=="]}), "is damaged"),
        (_put("counts", {}), "lacks the count of block"),
        (_drop("version"), "has version None. This code reads version 1"),
        (_put("version", 2), "has version 2. This code reads version 1"),
    ],
)
def test_refuses_damaged_states(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object], message: str
) -> None:
    (state,), _ = _stopped([_host(tmp_path / "0", "a.jsonl")], 2)
    damage(state)
    (loader,) = _host(tmp_path / "1", "a.jsonl", "c.jsonl")
    with pytest.raises(StateError, match=message):
        loader.load_state_dict([state])


def test_there_is_no_state_before_an_epoch(tmp_path: Path) -> None:
    (loader,) = _host(tmp_path / "0", "a.jsonl")
    with pytest.raises(StateError, match="No epoch was begun"):
        loader.state_dict()


def test_ranks_that_resume_from_different_states_are_refused(tmp_path: Path) -> None:
    (loader,) = _host(tmp_path / "0", "a.jsonl")
    states = [_stopped([[loader]], batches)[0] for batches in (1, 2)]
    after = [_host(tmp_path / "1", "a.jsonl", parts=2)]
    for rank, given in zip(after[0], states, strict=True):
        rank.load_state_dict(given)
    (message,) = {str(outcome) for outcome in Ranks(after).agree(1)}
    assert message.startswith("The ranks disagree on resumed_from: ")


def test_a_state_is_small_whatever_the_data(tmp_path: Path) -> None:
    sizes = []
    for records in (2_000, 20_000):
        write_shards(tmp_path / str(records), {"a.jsonl": numbered(records)})
        settings = _settings(window_blocks=128)
        (loader,) = host_loaders(tmp_path / str(records), settings)
        states, _ = _stopped([[loader]], records // 8)
        sizes.append(len(json.dumps(states)))
    assert max(sizes) < 6_000
    assert sizes[1] - sizes[0] < 1_000


def test_refuses_a_shard_whose_records_moved_while_the_job_was_down(tmp_path: Path) -> None:
    states, _ = _stopped([_host(tmp_path / "0", "a.jsonl", "c.jsonl", count=False)], 4)
    _host(tmp_path / "1", "a.jsonl", "c.jsonl")
    for path in [tmp_path / "1" / "a.jsonl", tmp_path / "1" / "c.jsonl"]:
        path.write_bytes(path.read_bytes().replace(b"}\n{", b"},{"))
    # On its own host the rank would go on in place: two parts order what is left anew.
    parts = host_loaders(tmp_path / "1", _settings(count=False, output="bytes"), parts=2)
    parts[0].load_state_dict(states)
    parts[1].load_state_dict(states)
    epochs = itertools.chain.from_iterable(part.epoch(1) for part in parts)
    with pytest.raises(RecordError, match=r"^[ac]\.jsonl changed .* records and has"):
        list(epochs)
