"""Every format on random shards: nothing is lost, nothing comes twice, damage is named."""

import contextlib
import gzip
import io
import json
import tarfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from tests.property.shard_files import FEW, MANY, TEXTS, run_property, settings_of
from tests.unit.records.formats.shard_files import blocks_of, listed, read_all
from tests.unit.records.host_data import host_loaders, write_shards
from training.records import Batch, LoaderSettings, RecordError, Shard
from training.records.formats import tar, tar_index
from training.records.formats.protocol import ShardFormat
from training.records.formats.registry import make_format
from training.records.reading import open_shard

TextRecord = tuple[str, str]
"""What each record is made of, whatever the format: an id and a text."""

EPOCHS = 2

# There are many formats: fewer examples of each.
few_and_many = pytest.mark.parametrize(
    "examples",
    [
        pytest.param(settings(FEW, max_examples=12), id="few"),
        pytest.param(MANY, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(2400)]),
    ],
)


@dataclass(frozen=True)
class WrittenAs:
    """Free choices of whoever writes a shard."""

    choice: int
    """0, 1 or 2; each format makes of it what it likes."""
    mark: bool
    """Such as a byte order mark, or whatever else the format may have or not."""


@dataclass(frozen=True)
class Kind:
    """A format as the tests write and read it."""

    ending: str
    write: Callable[[Sequence[TextRecord], WrittenAs], bytes]
    records: Callable[[Batch], list[TextRecord]]
    texts: st.SearchStrategy[str] = TEXTS
    fixed: tuple[tuple[str, Any], ...] = ()
    """Settings of the loader."""


def _csv(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    line_end = ("\n", "\r\n", "\n")[written.choice]

    def field(text: str) -> str:
        plain = not set(text) & set(',"\r\n') and written.choice
        return text if plain else '"' + text.replace('"', '""') + '"'

    lines = ["id,text", *(f"{field(name)},{field(text)}" for name, text in records)]
    content = line_end.join(lines) + line_end * written.mark
    return ("\ufeff" * written.mark + content).encode()


def _parquet(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    columns = {
        "id": pa.array([name for name, _ in records], pa.string()),
        "text": pa.array([text for _, text in records], pa.string()),
    }
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table(columns),
        sink,
        row_group_size=written.choice + 1,
        use_dictionary=written.mark,
        compression=("none", "zstd", "snappy")[written.choice],
    )
    return bytes(sink.getvalue())


def _tar(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    kind = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)[written.choice]
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=kind) as archive:
        for number, (name, text) in enumerate(records):
            # Long keys need extensions, which ustar lacks; endings are all that samples share.
            folder = (
                "" if not written.mark else "é/" if written.choice == 0 else "f" * number * 9 + "/"
            )
            members = [("ID", name), ("text.u8", text), ("x", "")]
            for ending, content in members[: 2 + number % 2]:
                info = tarfile.TarInfo(f"{folder}{number}.{ending}")
                encoded = content.encode()
                info.size = len(encoded)
                info.mtime = number / 2
                archive.addfile(info, io.BytesIO(encoded))
    return sink.getvalue()


def _lines(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    line_end = ("\n", "\r\n", "\n")[written.choice]
    content = line_end.join(f"{name} {text}" for name, text in records)
    return (
        ("\ufeff" * written.mark + content + line_end * written.mark).encode() if records else b""
    )


def _json_lines(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    lines = [
        json.dumps({"id": name, "text": text}, ensure_ascii=written.mark) for name, text in records
    ]
    return "".join(line + "\n" for line in lines).encode()


def _zstd(text: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text)
    return bytes(sink.getvalue())


def _of_columns(batch: Batch) -> list[TextRecord]:
    return [(record["id"], record["text"]) for record in batch.records]


def _of_samples(batch: Batch) -> list[TextRecord]:
    return [(sample["id"].decode(), sample["text.u8"].decode()) for sample in batch.records]


def _of_lines(batch: Batch) -> list[TextRecord]:
    lines: list[str] = batch.data
    return [(name, text) for name, _, text in (line.partition(" ") for line in lines)]


# What one line can hold: no newline, and no carriage return at its end.
ONE_LINE = TEXTS.map(lambda text: text.replace("\n", "").rstrip("\r"))

KINDS = {
    "csv": Kind(".csv", _csv, _of_columns, TEXTS.map(lambda text: text.replace("\n", ""))),
    "csv with newlines": Kind(".csv", _csv, _of_columns, fixed=(("quoted_newlines", True),)),
    "parquet": Kind(".parquet", _parquet, _of_columns),
    "tar": Kind(".tar", _tar, _of_samples),
    "gzip lines": Kind(
        ".txt.gz", lambda r, w: gzip.compress(_lines(r, w), mtime=0), _of_lines, ONE_LINE
    ),
    "zstd lines": Kind(".txt.zst", lambda r, w: _zstd(_lines(r, w)), _of_lines, ONE_LINE),
    "gzip json": Kind(
        ".jsonl.gz", lambda r, w: gzip.compress(_json_lines(r, w), mtime=0), _of_columns
    ),
    "zstd json": Kind(".jsonl.zst", lambda r, w: _zstd(_json_lines(r, w)), _of_columns),
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

WRITTEN_AS = st.builds(WrittenAs, choice=st.integers(0, 2), mark=st.booleans())


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


NAMES = st.text(alphabet="aB./_é0", min_size=1, max_size=12)


def _found_or_refused(
    way: Callable[[io.FileIO, Shard], tar_index.TarIndex | None], file: io.FileIO, shard: Shard
) -> tar_index.TarIndex | str | None:
    try:
        return way(file, shard)
    except RecordError as error:
        return str(error)


def _arrays_find_what_the_walk_finds(
    folder: Path, names: list[str], kind: int, sizes: list[int], block_bytes: int
) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=kind) as archive:
        for number, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size = sizes[number % len(sizes)]
            info.mtime = number / 2
            archive.addfile(info, io.BytesIO(bytes([number]) * info.size))
    (folder / "a.tar").write_bytes(sink.getvalue())
    shard = listed(folder, "a.tar")
    with open_shard(shard) as file:
        by_arrays, by_walking = (
            _found_or_refused(way, file, shard)
            for way in (tar_index._by_arrays, tar_index._by_walking)
        )
    if not isinstance(by_arrays, tar_index.TarIndex):
        # Either the same refusal, or it is left to the walk.
        assert by_arrays in (None, by_walking)
        return
    assert isinstance(by_walking, tar_index.TarIndex)
    assert by_arrays.starts.tolist() == by_walking.starts.tolist()
    assert by_arrays[1:] == by_walking[1:]
    shard_format = tar.TarFormat(block_bytes=block_bytes)
    blocks = blocks_of(shard_format, [shard])
    samples = shard_format.read(blocks)._samples
    bounds = [block.start - blocks[0].start for block in blocks] if blocks else []
    walked = tar._by_walking(
        samples.content,
        samples.shards,
        pa.array([*bounds, len(samples.content)]).to_numpy(),
        shard_format._endings,
    )
    assert samples.bounds.tolist() == walked.bounds.tolist()
    assert samples.endings == walked.endings
    assert samples.parts.tolist() == walked.parts.tolist()
    assert samples.firsts.tolist() == walked.firsts.tolist()
    assert samples.keys.to_pylist() == walked.keys.to_pylist()
    assert samples.lengths.tolist() == walked.lengths.tolist()


@few_and_many
def test_tar_by_arrays_is_tar_by_walking(examples: settings) -> None:
    keys = st.lists(st.text(alphabet="abc/", min_size=1, max_size=4), max_size=8, unique=True)
    endings = st.lists(st.sampled_from(["x", "Y", "z.w", "long"]), min_size=1, unique=True)
    usual = st.tuples(keys, endings).map(
        lambda both: [f"{k}.{e}" for k in both[0] for e in both[1]]
    )
    run_property(
        _arrays_find_what_the_walk_finds,
        examples,
        names=st.one_of(usual, st.lists(NAMES, max_size=6)),
        kind=st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
        sizes=st.lists(st.sampled_from([0, 1, 511, 512, 513, 3000]), min_size=1, max_size=4),
        block_bytes=st.sampled_from([1, 2000, 5000, 1 << 17]),
    )
