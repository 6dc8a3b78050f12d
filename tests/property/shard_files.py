"""Random shards and settings, and how a property is run on many of them."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.unit.records.host_data import host_loaders, write_shards
from training.records import LoaderSettings, RecordLoader

# Files are written for each example: slow for hypothesis, and no sign of a fault.
COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Not shrunk: the many examples find a small one.
FEW = settings(
    COMMON,
    max_examples=30,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
MANY = settings(COMMON, max_examples=1200)

few_and_many = pytest.mark.parametrize(
    "examples",
    [
        pytest.param(FEW, id="few"),
        pytest.param(MANY, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(2400)]),
    ],
)

# Characters that some reader takes for the end of a line, or that take several bytes.
TEXTS = st.one_of(
    st.text(alphabet='a\u2028\u2029\x85\x0b\x0c\x1c\r\n\0"\\é\U0001f600', max_size=40),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20),
)


@dataclass(frozen=True)
class ShardFile:
    """What a shard holds and how it is written."""

    texts: list[str]
    line_end: str
    byte_order_mark: bool
    final_line_end: bool
    ascii_only: bool

    def records(self, name: str) -> list[dict[str, Any]]:
        return [{"id": f"{name}:{n}", "text": text} for n, text in enumerate(self.texts)]

    def content(self, name: str) -> bytes:
        lines = [json.dumps(r, ensure_ascii=self.ascii_only) for r in self.records(name)]
        joined = self.line_end.join(lines) + self.line_end * self.final_line_end
        mark = "\ufeff" * self.byte_order_mark
        return (mark + joined).encode() if lines else b""


SHARD_FILES = st.builds(
    ShardFile,
    texts=st.lists(TEXTS, max_size=12),
    line_end=st.sampled_from(["\n", "\r\n"]),
    byte_order_mark=st.booleans(),
    final_line_end=st.booleans(),
    ascii_only=st.booleans(),
)
NAMES = [f"{folder}part-{n}.jsonl" for n in range(4) for folder in ("", "deep/er/")]


def settings_of(**fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[LoaderSettings]:
    """Draw settings; those that are not named are drawn from small and odd values."""
    drawn: dict[str, st.SearchStrategy[Any]] = {
        "batch_size": st.integers(1, 6),
        "seed": st.integers(0, 2**63 - 1),
        "shuffle": st.booleans(),
        "block_bytes": st.sampled_from([1, 2, 3, 7, 20, 64, 200, 1 << 17]),
        "window_blocks": st.sampled_from([1, 2, 3, 8, 32, 128]),
        "prefetch": st.booleans(),
    }
    return st.builds(LoaderSettings, **(drawn | fixed))


SETTINGS = settings_of()


@dataclass(frozen=True)
class Assignment:
    """Which host holds which shard, by some rule that nobody promised."""

    files: list[ShardFile]
    hosts: int
    host_of_shard: list[int]

    def records_of_hosts(self) -> list[int]:
        records = [0] * self.hosts
        for file, host in zip(self.files, self.host_of_shard, strict=True):
            records[host] += len(file.texts)
        return records

    def records(self) -> list[dict[str, Any]]:
        named = zip(NAMES, self.files, strict=False)
        return [record for name, file in named for record in file.records(name)]

    def loaders(
        self, folder: Path, loader_settings: LoaderSettings, devices: int
    ) -> list[list[RecordLoader]]:
        """Write the shards and make the loaders of each host's local ranks."""
        hosts = []
        for host in range(self.hosts):
            contents = {
                name: file.content(name)
                for name, file, owner in zip(NAMES, self.files, self.host_of_shard, strict=False)
                if owner == host
            }
            directory = write_shards(folder / f"algo-{host + 1}", contents)
            hosts.append(host_loaders(directory, loader_settings, parts=devices))
        return hosts


@st.composite
def assignments(draw: st.DrawFn) -> Assignment:
    files = draw(st.lists(SHARD_FILES, max_size=len(NAMES)))
    return draw(assignments_of(files))


@st.composite
def assignments_of(draw: st.DrawFn, files: list[ShardFile]) -> Assignment:
    hosts = draw(st.integers(1, 4))
    return Assignment(files, hosts, [draw(st.integers(0, hosts - 1)) for _ in files])


def canonical(records: Sequence[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(record, sort_keys=True) for record in records)


def run_property(
    property_: Callable[..., None], examples: settings, **drawn: st.SearchStrategy[Any]
) -> None:
    """Check `property_` on examples drawn as `drawn` says, after an empty folder."""

    def in_a_folder(**values: Any) -> None:  # noqa: ANN401 - whatever the strategies draw
        with tempfile.TemporaryDirectory() as folder:
            property_(Path(folder), **values)

    examples(given(**drawn)(in_a_folder))()
