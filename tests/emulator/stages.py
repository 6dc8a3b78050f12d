"""The stages of a deployment's life: bootstrapped, deployed, trained, changed, destroyed."""

import base64
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evenshard.emulator.local_aws import local_aws
from evenshard.emulator.server import Emulator
from evenshard.repository import ROOT
from tests.emulator.answers import KINDS, answers
from tests.emulator.cdk_app import CdkApp, cdk_app
from tests.emulator.deployed import Deployed, Resource, everything
from tests.images.deployment import cdk_variables, image_store, pushed_images
from tests.images.needs import REQUIRED, missing
from tests.images.store import Store

PREFIX: Final = "evenshard-dev"
PIPELINE: Final = f"{PREFIX}-pytorch"
PARAMETERS: Final = {
    "InstanceCount": "2",
    "Epochs": "1",
    "BatchSize": "64",
    "QualityThreshold": "0.5",
}
_SCRIPT_DOCUMENT: Final = ROOT / "docs" / "start-from-python.md"
_EVENSHARD: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); import evenshard.cli as cli; cli.main()"
)
"""The `evenshard` command of this checkout."""


@dataclass(kw_only=True)
class Seen:
    """What was seen, stage by stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    """What the CDK command line printed."""
    found: dict[str, set[str]] = field(default_factory=dict)
    """Everything there was after a stage."""
    resources: dict[str, list[Resource]] = field(default_factory=dict)
    """After the first deployment, by type."""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of the services after the first deployment: kind -> name -> answer."""
    ids: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Physical ids after a stage."""
    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of the pipeline after a stage."""
    outputs: dict[str, str] = field(default_factory=dict)
    code_sha256: str = ""
    """Of the zip that the CDK command line uploaded for the function."""
    images: list[str] = field(default_factory=list)
    """The names under which images were pushed."""
    lines: list[str] = field(default_factory=list)
    """What the script of the document printed."""
    execution: dict[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By step."""
    model: dict[str, Any] = field(default_factory=dict)
    """The head of the trained model's object."""
    packages: list[dict[str, Any]] = field(default_factory=list)
    package: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        """Take the time of one stage."""
        began_s = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - began_s

    def table(self) -> str:
        """Seconds of each stage, and of all."""
        lines = [f"{name:32} {seconds:6.1f} s" for name, seconds in self.seconds.items()]
        return "\n".join([*lines, f"{'all':32} {sum(self.seconds.values()):6.1f} s"])


def play_stages(folder: Path) -> Seen:
    """Everything, from nothing to destroyed."""
    seen = Seen()
    for name in ("app", "images"):
        (folder / name).mkdir()
    with ExitStack() as stack:
        store = _image_store(stack, folder / "images")
        server = stack.enter_context(local_aws(state_folder=folder / "state", devices_per_host=2))
        app = cdk_app(folder / "app", server, None if store is None else cdk_variables(store))
        deployed = Deployed(server=server, assembly=app.assembly)
        _deploy(seen, app, deployed)
        seen.images = [] if store is None else pushed_images(store)
        _train(seen, app, server)
        _change(seen, app, deployed)
        _destroy(seen, app, server)
    return seen


def _image_store(stack: ExitStack, folder: Path) -> Store | None:
    """Where images are built; None where they cannot be and need not."""
    if missing() is not None and os.environ.get(REQUIRED) != "1":
        return None
    return stack.enter_context(image_store(folder))


def _deploy(seen: Seen, app: CdkApp, deployed: Deployed) -> None:
    with seen.measured("bootstrap"):
        app.bootstrap()
    seen.found["bootstrapped"] = everything(deployed.server)
    with seen.measured("synthesize and deploy"):
        seen.printed["deployed"] = app.deploy()
    seen.found["deployed"] = everything(deployed.server)
    seen.ids["deployed"] = deployed.physical_ids()
    seen.outputs = deployed.outputs()
    seen.definitions["deployed"] = _definition(deployed.server)
    seen.resources = {kind: deployed.resources(kind) for kind in KINDS}
    seen.answers = {kind: answers(deployed.server, kind, seen.resources[kind]) for kind in KINDS}
    [function] = seen.resources["AWS::Lambda::Function"]
    seen.code_sha256 = _sha256_of_object(deployed.server, function.properties["Code"])


def _train(seen: Seen, app: CdkApp, server: Emulator) -> None:
    bucket = seen.outputs["DataBucketName"]
    with seen.measured("data"):
        target = f"s3://{bucket}/data/"
        app.run([sys.executable, "-c", _EVENSHARD, str(ROOT), "data", target, "--shards", "4"])
    script = app.folder / "start.py"
    [text] = re.findall(r"```python\n(.*?)```", _SCRIPT_DOCUMENT.read_text("utf-8"), re.DOTALL)
    script.write_text(text, encoding="utf-8")
    pairs = [f"{name}={value}" for name, value in PARAMETERS.items()]
    with seen.measured("execution"):
        seen.lines = app.run([sys.executable, str(script), PIPELINE, *pairs]).splitlines()
    _look(seen, server)


def _look(seen: Seen, server: Emulator) -> None:
    """Ask for all that is known of the execution."""
    sagemaker, arn = server.client("sagemaker"), seen.lines[0]
    seen.execution = sagemaker.describe_pipeline_execution(PipelineExecutionArn=arn)
    listed = sagemaker.list_pipeline_execution_steps(
        PipelineExecutionArn=arn, SortOrder="Ascending"
    )
    seen.steps = listed["PipelineExecutionSteps"]
    [trained] = sagemaker.list_training_jobs()["TrainingJobSummaries"]
    [evaluated] = sagemaker.list_processing_jobs()["ProcessingJobSummaries"]
    seen.jobs = {
        "Train": sagemaker.describe_training_job(TrainingJobName=trained["TrainingJobName"]),
        "Evaluate": sagemaker.describe_processing_job(
            ProcessingJobName=evaluated["ProcessingJobName"]
        ),
    }
    uri = seen.jobs["Train"]["ModelArtifacts"]["S3ModelArtifacts"]
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    seen.model = server.client("s3").head_object(Bucket=bucket, Key=key)
    listed = sagemaker.list_model_packages(ModelPackageGroupName=PIPELINE)
    seen.packages = listed["ModelPackageSummaryList"]
    name = seen.packages[0]["ModelPackageArn"]
    seen.package = sagemaker.describe_model_package(ModelPackageName=name)


def _change(seen: Seen, app: CdkApp, deployed: Deployed) -> None:
    with seen.measured("deploy the same again"):
        seen.printed["again"] = app.deploy_again()
    app.change("dev", "epochs = 3", "epochs = 5")
    with seen.measured("deploy a changed setting"):
        seen.printed["changed"] = app.deploy()
    seen.ids["changed"] = deployed.physical_ids()
    seen.found["changed"] = everything(deployed.server)
    seen.definitions["changed"] = _definition(deployed.server)


def _destroy(seen: Seen, app: CdkApp, server: Emulator) -> None:
    with seen.measured("destroy"):
        teardown = [sys.executable, "-m", "infra.teardown", "dev"]
        seen.printed["emptied"] = app.run(teardown, answer=f"{PREFIX}\n")
        seen.printed["destroyed"] = app.destroy()
    seen.found["destroyed"] = everything(server)


def _definition(server: Emulator) -> dict[str, Any]:
    described = server.client("sagemaker").describe_pipeline(PipelineName=PIPELINE)
    loaded: dict[str, Any] = json.loads(described["PipelineDefinition"])
    return loaded


def _sha256_of_object(server: Emulator, code: Mapping[str, str]) -> str:
    stored = server.client("s3").get_object(Bucket=code["S3Bucket"], Key=code["S3Key"])
    return base64.b64encode(hashlib.sha256(stored["Body"].read()).digest()).decode()
