"""Every format on random shards: nothing is lost, nothing comes twice, damage is named."""

import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from tests.property.format_kinds import KINDS, WRITTEN_AS, Kind, TextRecord, WrittenAs, each_kind
from tests.property.shard_files import FEW, MANY, run_property, settings_of
from tests.unit.records.formats.shard_files import listed, read_all
from tests.unit.records.host_data import host_loaders, write_shards
from training.records import LoaderSettings, RecordError
from training.records.formats.protocol import ShardFormat
from training.records.formats.registry import make_format

EPOCHS = 2

# There are many formats: fewer examples of each.
few_and_many = pytest.mark.parametrize(
    "examples",
    [
        pytest.param(settings(FEW, max_examples=12), id="few"),
        pytest.param(MANY, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(2400)]),
    ],
)


def _settings_of(kind: Kind) -> st.SearchStrategy[LoaderSettings]:
    return settings_of(**{name: st.just(value) for name, value in kind.fixed})


def _shards_of(kind: Kind) -> st.SearchStrategy[list[tuple[list[str], WrittenAs]]]:
    return st.lists(st.tuples(st.lists(kind.texts, max_size=12), WRITTEN_AS), max_size=4)


def _write(
    folder: Path, kind: Kind, shards: Sequence[tuple[list[str], WrittenAs]]
) -> list[TextRecord]:
    """Write shards and return what they hold."""
    expected: list[TextRecord] = []
    contents: dict[str, bytes] = {}
    for number, (texts, written) in enumerate(shards):
        records = [(f"{number}:{n}", text) for n, text in enumerate(texts)]
        contents[f"d/{number}{kind.ending}"] = kind.write(records, written)
        expected += records
    write_shards(folder, contents)
    return expected


def _every_record_once(
    folder: Path,
    kind: Kind,
    shards: list[tuple[list[str], WrittenAs]],
    loader_settings: LoaderSettings,
    parts: int,
) -> None:
    expected = _write(folder, kind, shards)
    loaders = host_loaders(folder, loader_settings, parts=parts)
    again = host_loaders(folder, loader_settings, parts=parts)
    assert sum(loaders[0].counts) == len(expected)
    for epoch in range(EPOCHS):
        used: list[TextRecord] = []
        for loader, same in zip(loaders, again, strict=True):
            batches = list(loader.epoch(epoch))
            of_part = [record for batch in batches for record in kind.records(batch)]
            assert len(of_part) == loaders[0].counts[loader.part]
            assert of_part == [r for batch in same.epoch(epoch) for r in kind.records(batch)]
            for batch in batches:
                name, _ = kind.records(batch)[0]
                assert batch.locate(0).startswith(f"d/{name.partition(':')[0]}{kind.ending}, ")
            used += of_part
        assert Counter(used) == Counter(expected)


@each_kind
@few_and_many
def test_every_record_comes_once(kind: Kind, examples: settings) -> None:
    run_property(
        _every_record_once,
        examples,
        kind=st.just(kind),
        shards=_shards_of(kind),
        loader_settings=_settings_of(kind),
        parts=st.integers(1, 3),
    )


def _identical_rest(
    folder: Path,
    kind: Kind,
    shards: list[tuple[list[str], WrittenAs]],
    loader_settings: LoaderSettings,
    stop: int,
) -> None:
    _write(folder, kind, shards)
    parts = 2
    loaders = host_loaders(folder, loader_settings, parts=parts)
    whole = [[kind.records(batch) for batch in loader.epoch(1)] for loader in loaders]
    epochs = [loader.epoch(1) for loader in loaders]
    stops = [min(stop, len(batches)) for batches in whole]
    for epoch, batches in zip(epochs, stops, strict=True):
        for _ in range(batches):
            next(epoch)
    states = [json.loads(json.dumps(epoch.state_dict())) for epoch in epochs]
    for part, again in enumerate(host_loaders(folder, loader_settings, parts=parts)):
        again.load_state_dict(states)
        rest = [kind.records(batch) for batch in again.epoch(1)]
        assert rest == whole[part][stops[part] :]


@each_kind
@few_and_many
def test_the_rest_after_any_batch_is_identical(kind: Kind, examples: settings) -> None:
    run_property(
        _identical_rest,
        examples,
        kind=st.just(kind),
        shards=_shards_of(kind),
        loader_settings=_settings_of(kind),
        stop=st.integers(0, 20),
    )


def _remaining_once_among_fewer(
    folder: Path,
    kind: Kind,
    shards: list[tuple[list[str], WrittenAs]],
    loader_settings: LoaderSettings,
    stop: int,
) -> None:
    expected = _write(folder, kind, shards)
    used: list[TextRecord] = []
    states = []
    for loader in host_loaders(folder, loader_settings, parts=3):
        epoch = loader.epoch(1)
        for _, batch in zip(range(stop), epoch, strict=False):
            used += kind.records(batch)
        states.append(json.loads(json.dumps(epoch.state_dict())))
    for loader in host_loaders(folder, loader_settings, parts=2):
        loader.load_state_dict(states)
        used += [record for batch in loader.epoch(1) for record in kind.records(batch)]
    assert Counter(used) == Counter(expected)


@each_kind
@few_and_many
def test_other_ranks_finish_an_epoch_with_what_is_left(kind: Kind, examples: settings) -> None:
    run_property(
        _remaining_once_among_fewer,
        examples,
        kind=st.just(kind),
        shards=_shards_of(kind),
        loader_settings=_settings_of(kind),
        stop=st.integers(0, 8),
    )


def _made(kind: Kind) -> ShardFormat:
    name = {
        ".csv": "csv",
        ".parquet": "parquet",
        ".tar": "tar",
        ".txt.gz": "compressed_lines",
        ".txt.zst": "compressed_lines",
        ".jsonl.gz": "compressed_json_lines",
        ".jsonl.zst": "compressed_json_lines",
    }[kind.ending]
    return make_format(name, LoaderSettings(batch_size=1, seed=0, block_bytes=20).for_format())


def _cut_is_named(
    folder: Path, kind: Kind, texts: list[str], written: WrittenAs, share: float
) -> None:
    content = kind.write([(str(n), text) for n, text in enumerate(texts)], written)
    path = folder / f"a{kind.ending}"
    path.write_bytes(content)
    shard_format = _made(kind)
    end = int(shard_format.index(listed(folder, path.name), count=True).bounds[-1])
    # A file of no bytes at all is not even listed.
    path.write_bytes(content[: max(int(len(content) * share), 1)])
    shard = listed(folder, path.name)
    if kind.ending == ".tar" and shard.size_bytes >= end + 512:
        # Nothing was cut but what fills an archive up behind the mark of its end.
        assert len(read_all(shard_format, [shard])) == len(texts)
        return
    with pytest.raises(RecordError, match=f"a{kind.ending}"):
        read_all(_made(kind), [shard], shard_format.outputs[0])


@pytest.mark.parametrize(
    "kind", [kind for name, kind in KINDS.items() if "csv" not in name], ids=lambda k: k.ending
)
@few_and_many
def test_a_cut_shard_is_named(kind: Kind, examples: settings) -> None:
    run_property(
        _cut_is_named,
        examples,
        kind=st.just(kind),
        texts=st.lists(kind.texts, max_size=12),
        written=WRITTEN_AS,
        share=st.floats(0, 1, exclude_max=True),
    )


def _change_is_named_or_harmless(
    folder: Path, kind: Kind, texts: list[str], written: WrittenAs, changes: list[tuple[float, int]]
) -> None:
    content = bytearray(kind.write([(str(n), text) for n, text in enumerate(texts)], written))
    for share, mask in changes:
        content[int(len(content) * share)] ^= mask
    (folder / f"a{kind.ending}").write_bytes(content)
    shard_format = _made(kind)
    # Any other error than this one, and any warning, fails the test.
    with contextlib.suppress(RecordError):
        records = read_all(
            shard_format, [listed(folder, f"a{kind.ending}")], shard_format.outputs[0]
        )
        if kind.ending == ".tar":
            assert len(records) == len(texts)


@pytest.mark.parametrize(
    "kind",
    [kind for name, kind in KINDS.items() if "newlines" not in name],
    ids=lambda k: k.ending,
)
@few_and_many
def test_changed_bytes_are_named_or_change_contents_alone(kind: Kind, examples: settings) -> None:
    run_property(
        _change_is_named_or_harmless,
        examples,
        kind=st.just(kind),
        texts=st.lists(kind.texts, min_size=1, max_size=12),
        written=WRITTEN_AS,
        changes=st.lists(
            st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)),
            min_size=1,
            max_size=3,
        ),
    )
