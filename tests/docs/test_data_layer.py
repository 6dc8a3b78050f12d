"""The example of docs/data-layer.md runs as it is written."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from evenshard.repository import ROOT
from training.contract.shard_names import ENDINGS
from training.records import LoaderSettings, Step

DOCUMENT = (ROOT / "docs" / "data-layer.md").read_text(encoding="utf-8")


def test_the_example_hands_out_every_record_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [f"record {number}" for number in range(70)]
    (tmp_path / "a.txt").write_text("\n".join(records[:50]))
    (tmp_path / "b.txt").write_text("\n".join(records[50:]))
    monkeypatch.setenv("SM_CHANNEL_TRAIN", str(tmp_path))
    (example,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, flags=re.DOTALL | re.MULTILINE)
    steps: list[Step] = []
    names: dict[str, Any] = {
        "os": os,
        "Path": Path,
        "take": steps.append,
        "all_gather": lambda mine: [list(mine)],
        "local_rank": 0,
        "local_world_size": 1,
        "host_rank": 0,
        "epoch": 0,
    }
    exec(example.replace("...", "take(step)"), names)  # noqa: S102 - the document's own code
    assert [step.records for step in steps] == [32, 32, 6]
    used = [text for step in steps if step.batch is not None for text in step.batch.data]
    assert sorted(used) == sorted(records)


def test_every_ending_and_setting_that_it_names_exists() -> None:
    named = set(re.findall(r"`(\.[a-z.]+)`", DOCUMENT))
    assert named
    assert named <= set(ENDINGS)
    settings = {"format", "errors", "quoted_newlines", "window_blocks", "block_bytes", "count"}
    assert all(f"`{name}" in DOCUMENT or f"`{name}=" in DOCUMENT for name in settings)
    assert settings <= set(LoaderSettings.__dataclass_fields__)
