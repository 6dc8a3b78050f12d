"""What a changed setting does to what is deployed: nothing that holds data is made anew."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import pytest

from tests.synth.conftest import REPOSITORY_ROOT, Assembly
from tests.synth.variants import IMPORTED_NETWORK, NO_NETWORK, settings_with, synthesized

pytestmark = pytest.mark.timeout(300)

SCHEMAS: Final = Path(str(resources.files("cfnlint"))) / "data" / "schemas"
STATEFUL: Final = {
    "AWS::KMS::Key",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SageMaker::ModelPackageGroup",
    "AWS::SNS::Topic",
}
"""Whose loss nobody would want: data, models, logs, subscriptions."""

CHANGES: Final[dict[str, dict[str, Any]]] = {
    "data is not retained": {"storage.retain_data": False},
    "shorter lives": {"storage.old_versions_days": 1, "storage.checkpoints_days": 1},
    "logs": {"preflight.log_days": 7, "storage.access_logs_days": 7},
    "tags": {"tags": {"owner": "vision"}},
    "permissions boundary": {"permissions_boundary": "bounds"},
    "notifications": {"notifications.emails": ("a@example.com",)},
    "budget": {"budget": {}},
    "triggers": {"triggers": {"on_dataset": (), "on_schedule": ()}},
    "volume key": {
        "training.allowed_instance_types": ("ml.c7i.4xlarge",),
        "training.instance_type": "ml.c7i.4xlarge",
    },
    "capacity": {"training.capacity": {"kind": "spot", "max_wait_s": 400_000}},
    "no network": {"network": NO_NETWORK},
    "imported network": {"network": IMPORTED_NETWORK},
    "fewer zones": {"network.zones": 1},
    "fewer endpoints": {"network.interface_endpoints": ()},
    "another image": {
        "pytorch.image": {
            "kind": "build",
            "base_image": "public.ecr.aws/deep-learning-containers/pytorch:1",
        }
    },
}
REFUSED: Final = {"imported network", "fewer zones"}
"""docs/operations.md, "Change", says the way around."""


@cache
def create_only(kind: str) -> tuple[tuple[str, ...], ...]:
    """Paths of the properties of a type that cannot change: CloudFormation makes another one."""
    files = json.loads((SCHEMAS / "providers" / "us-east-1.json").read_text())
    schema = json.loads((SCHEMAS / "resources" / f"{files[kind]}.json").read_text())
    pointers = schema.get("createOnlyProperties", ())
    return tuple(tuple(one.removeprefix("/properties/").split("/")) for one in pointers)


def at(value: Any, path: tuple[str, ...]) -> object:  # noqa: ANN401 - of a template
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def lost(old: Assembly, new: Assembly) -> Iterator[str]:
    """`Storage Data`, say, for each resource that is deleted, or made anew and then deleted."""
    after: Mapping[str, Any] = new.templates()
    for stack, template in old.templates().items():
        kept = after.get(stack, {"Resources": {}})["Resources"]
        for name, resource in template["Resources"].items():
            kind = resource["Type"]
            if kind not in STATEFUL:
                continue
            if name not in kept or any(
                at(resource["Properties"], path) != at(kept[name]["Properties"], path)
                for path in create_only(kind)
            ):
                yield f"{stack} {kind}"


def refused(old: Assembly, new: Assembly) -> set[str]:
    """Stacks without an export that a deployed stack imports. Source: docs/facts.md 8."""
    imported = json.dumps(list(old.templates().values()))
    after: Mapping[str, Any] = new.templates()
    return {
        stack
        for stack, template in old.templates().items()
        for name in exports(template) - exports(after.get(stack, template))
        if json.dumps({"Fn::ImportValue": name}) in imported
    }


def exports(template: Mapping[str, Any]) -> set[str]:
    outputs = template.get("Outputs", {}).values()
    return {one["Export"]["Name"] for one in outputs if "Export" in one}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return synthesized(settings_with({}, environment="prod"), tmp_path_factory.mktemp("deployed"))


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_setting_makes_nothing_anew(
    deployed: Assembly, what: str, tmp_path: Path
) -> None:
    changed = synthesized(settings_with(CHANGES[what], environment="prod"), tmp_path)
    # The network's own log goes with the network.
    network = {"evenshard-prod-network AWS::Logs::LogGroup"} if "network" in CHANGES[what] else ()
    assert set(lost(deployed, changed)) == set(network)
    assert refused(deployed, changed) == ({"evenshard-prod-network"} if what in REFUSED else set())


def test_what_would_be_lost_is_seen(deployed: Assembly, tmp_path: Path) -> None:
    """And said in docs/operations.md, "Change"."""
    one_less = {"frameworks": ("pytorch",), "triggers.on_dataset": ("pytorch",)}
    without = synthesized(settings_with(one_less, environment="prod"), tmp_path)
    assert list(lost(deployed, without)) == [
        "evenshard-prod-training AWS::SageMaker::ModelPackageGroup"
    ]
    renamed = synthesized(
        settings_with({"prefix": "other"}, environment="prod"), tmp_path / "renamed"
    )
    assert len(list(lost(deployed, renamed))) > 5
    text = (REPOSITORY_ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    [section] = [one for one in text.split("\n## ") if one.startswith("Change\n")]
    for key in ("prefix", "frameworks", "network", "[target]"):
        assert f"| `{key}`" in section


def test_a_zone_more_leaves_the_others_where_they_are(deployed: Assembly, tmp_path: Path) -> None:
    more = synthesized(settings_with({"network.zones": 4}, environment="prod"), tmp_path)
    old, new = (
        {
            name: resource["Properties"]["CidrBlock"]
            for name, resource in one.template("Network")["Resources"].items()
            if resource["Type"] == "AWS::EC2::Subnet"
        }
        for one in (deployed, more)
    )
    assert len(new) == len(old) + 1
    assert {name: new[name] for name in old} == old
