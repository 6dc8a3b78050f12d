import subprocess
import sys

import training.records


def test_the_public_names() -> None:
    assert training.records.__all__ == [
        "AgreementError",
        "AllGather",
        "Batch",
        "EpochPlan",
        "LoaderSettings",
        "RecordError",
        "RecordLoader",
        "Shard",
        "agree",
        "find_shards",
    ]
    assert all(hasattr(training.records, name) for name in training.records.__all__)


def test_importing_it_brings_no_framework_and_only_contract_of_the_house() -> None:
    program = "import sys, training.records; print(*sorted(sys.modules))"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    modules = set(result.stdout.split())
    assert not {"torch", "tensorflow", "pandas", "boto3", "infra", "evenshard"} & modules
    ours = {name for name in modules if name.startswith("training.")}
    assert all(name.startswith(("training.records", "training.contract")) for name in ours)
