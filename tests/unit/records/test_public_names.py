import subprocess
import sys
from pathlib import Path

import pytest

import training.records
from tests.unit.records.host_data import numbered, write_shards


def test_the_public_names() -> None:
    assert training.records.__all__ == [
        "AgreementError",
        "AllGather",
        "Batch",
        "EpochPlan",
        "LoaderSettings",
        "Packed",
        "RecordEpoch",
        "RecordError",
        "RecordLoader",
        "Shard",
        "SharedCounting",
        "StateError",
        "Step",
        "agree",
        "find_shards",
        "steps_of_epoch",
    ]
    assert all(hasattr(training.records, name) for name in training.records.__all__)


@pytest.mark.parametrize("output", ["str", "bytes", "packed", "arrow", "records"])
def test_reading_brings_no_pandas(tmp_path: Path, output: str) -> None:
    write_shards(tmp_path, {"a.jsonl": numbered(100)})
    program = (
        "import sys; from pathlib import Path\n"
        "from training.records import LoaderSettings, RecordLoader, find_shards\n"
        "settings = LoaderSettings(batch_size=7, seed=1, output=sys.argv[2])\n"
        "shards = find_shards(Path(sys.argv[1]))\n"
        "loader = RecordLoader(shards, settings=settings, part=0, parts=1)\n"
        "print(sum(len(batch) for batch in loader.epoch(0)), 'pandas' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path), output]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.stdout, result.stderr) == ("100 False\n", "")


def test_importing_it_brings_no_framework_and_only_contract_of_the_house() -> None:
    program = "import sys, training.records; print(*sorted(sys.modules))"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    modules = set(result.stdout.split())
    assert not {"torch", "tensorflow", "pandas", "boto3", "infra", "evenshard"} & modules
    ours = {name for name in modules if name.startswith("training.")}
    assert all(name.startswith(("training.records", "training.contract")) for name in ours)
