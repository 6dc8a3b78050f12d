"""The training pipelines in the emulator, out of a synthesized assembly, without the CDK CLI."""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenshard.emulator.server import Emulator
from evenshard.simulator.deployment.assembly import Assembly
from tests.unit.emulator.tiny_pipelines import LAMBDA_TRUST


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """What was put there."""

    pipeline: str
    bucket: str
    group: str


def put(server: Emulator, assembly_folder: Path, framework: str) -> ByHand:
    """Make what one pipeline needs: its function, bucket, model package group, and itself."""
    assembly = Assembly(assembly_folder)
    pipeline = assembly.pipeline(framework)
    definition = json.loads(pipeline.body)
    steps = {step["Name"]: step for step in definition["Steps"]}
    _put_function(server, assembly, steps["Preflight"]["FunctionArn"])
    defaults = {one["Name"]: one["DefaultValue"] for one in definition["Parameters"]}
    bucket = defaults["TrainDataUri"].split("/")[2]
    server.client("s3").create_bucket(Bucket=bucket)
    [register] = steps["QualityGate"]["Arguments"]["IfSteps"]
    group = register["Arguments"]["ModelPackageGroupName"].rpartition("/")[2]
    sagemaker = server.client("sagemaker")
    sagemaker.create_model_package_group(ModelPackageGroupName=group)
    sagemaker.create_pipeline(
        PipelineName=pipeline.name,
        PipelineDefinition=pipeline.body,
        RoleArn=steps["Train"]["Arguments"]["RoleArn"],
        ClientRequestToken="c" * 32,
    )
    return ByHand(pipeline=pipeline.name, bucket=bucket, group=group)


def _put_function(server: Emulator, assembly: Assembly, arn: str) -> None:
    code = assembly.function(arn, "Steps.Preflight.FunctionArn")
    role = server.client("iam").create_role(
        RoleName="by-hand", AssumeRolePolicyDocument=json.dumps(LAMBDA_TRUST)
    )
    server.client("lambda").create_function(
        FunctionName=code.name,
        Runtime="python3.14",
        Role=role["Role"]["Arn"],
        Handler=code.handler,
        Timeout=code.limit_s,
        Environment={"Variables": dict(code.environment)},
        Code={"ZipFile": _zipped(code.folder)},
    )


def _zipped(folder: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))
    return content.getvalue()


def upload(server: Emulator, folder: Path, bucket: str, prefix: str) -> None:
    """Copy a folder into a bucket."""
    s3: Any = server.client("s3")
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            key = f"{prefix}{file.relative_to(folder).as_posix()}"
            s3.upload_file(str(file), bucket, key)
