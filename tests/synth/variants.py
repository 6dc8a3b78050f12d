"""Settings that no file holds, synthesized in this process: half a second each."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from aws_cdk import App

from infra.application import add_stacks
from infra.feature_flags import FEATURE_FLAGS
from infra.settings import Settings, load_settings
from tests.synth.conftest import Assembly

REGISTRY = "123456789012.dkr.ecr.us-east-1.amazonaws.com/train"
DIGEST = f"sha256:{'0' * 64}"
NO_NETWORK = {"kind": "none", "encrypt_traffic": False}
NEW_NETWORK = {
    "kind": "new",
    "cidr": "10.9.0.0/20",
    "zones": 2,
    "most_hosts": 8,
    "interface_endpoints": ("kms", "logs"),
    "flow_log_days": 30,
    "encrypt_traffic": False,
}
IMPORTED_NETWORK = {
    "kind": "imported",
    "vpc_id": "vpc-0123456789abcdef0",
    "subnet_ids": ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1"),
    "encrypt_traffic": True,
}


def settings_with(changes: Mapping[str, Any], *, environment: str = "dev") -> Settings:
    """An environment's settings with images that exist and other values for some keys.

    Args:
        changes: dotted key -> value, `training.epochs` for instance.
        environment: whose other values are kept.
    """
    values = load_settings(environment).model_dump()
    images = {
        f"{framework}.image": {"kind": "existing", "uri": f"{REGISTRY}/{framework}@{DIGEST}"}
        for framework in ("pytorch", "tensorflow")
    }
    for key, value in {**images, **changes}.items():
        *tables, name = key.split(".")
        table = values
        for one in tables:
            table = table[one]
        table[name] = value
    return Settings.model_validate(values)


def synthesized(settings: Settings, folder: Path) -> Assembly:
    """What app.py writes for these settings, judged by nag as there."""
    with mock.patch.dict(os.environ, {"CDK_VALIDATION": "false"}):
        app = App(context=FEATURE_FLAGS, outdir=str(folder))
        add_stacks(app, settings)
        app.synth()
    return Assembly(folder)
