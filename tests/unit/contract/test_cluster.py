import json
from pathlib import Path

import pytest

from training.contract.cluster import Cluster
from training.contract.errors import ContractError


def write(folder: Path, content: object) -> Path:
    file = folder / "resourceconfig.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_hosts_are_in_numeric_order(tmp_path: Path) -> None:
    names = [f"algo-{number}" for number in (10, 2, 1, 11)]
    cluster = Cluster.from_file(
        write(
            tmp_path,
            {"current_host": "algo-10", "hosts": names, "network_interface_name": "ethwe"},
        )
    )
    assert cluster.hosts == ("algo-1", "algo-2", "algo-10", "algo-11")
    assert (cluster.host_rank, cluster.chief, cluster.is_chief) == (2, "algo-1", False)
    assert cluster.network_interface_name == "ethwe"


def test_newer_fields_are_read(tmp_path: Path) -> None:
    cluster = Cluster.from_file(
        write(
            tmp_path,
            {
                "current_host": "algo-1",
                "hosts": ["algo-1"],
                "current_instance_type": "ml.g5.12xlarge",
                "current_group_name": "workers",
                "instance_groups": [],
            },
        )
    )
    assert cluster.is_chief
    assert cluster.instance_type == "ml.g5.12xlarge"
    assert cluster.instance_group == "workers"
    assert cluster.network_interface_name == "eth0"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "holds a list"),
        ({"current_host": "algo-1"}, "hosts is None"),
        ({"current_host": "algo-1", "hosts": []}, r"hosts is \[\]"),
        ({"current_host": "a", "hosts": ["a", "a"]}, "distinct names"),
        ({"current_host": "algo-3", "hosts": ["algo-1"]}, "'algo-3', which is not one of"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        Cluster.from_file(write(tmp_path, content))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"does not exist.*SAGEMAKER_BASE_DIR"):
        Cluster.from_file(tmp_path / "resourceconfig.json")
