import json
import threading
from pathlib import Path

from evenshard.simulator.deployment.registry import Registry, group_name


def test_versions_are_counted_from_one_in_each_group(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    assert registry.add("spam", {"model_data": "s3://b/1"})[0] == 1
    version, file = registry.add("spam", {"model_data": "s3://b/2"})
    assert version == 2
    assert registry.add("other", {})[0] == 1
    assert registry.versions("spam") == [1, 2]
    content = json.loads(file.read_text())
    assert content["model_data"] == "s3://b/2"
    assert content["arn"].endswith(":model-package/spam/2")


def test_runs_at_once_get_different_versions(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    taken: list[int] = []

    def add_some() -> None:
        taken.extend(registry.add("spam", {})[0] for _ in range(20))

    threads = [threading.Thread(target=add_some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 81))
    assert registry.versions("spam") == list(range(1, 81))


def test_a_group_is_named_by_name_or_by_arn() -> None:
    arn = "arn:aws:sagemaker:us-east-1:123456789012:model-package-group/spam"
    assert group_name("spam") == group_name(arn) == "spam"
