"""RegisterModel steps: a new version in a model package group."""

import json
from typing import Any

from evenshard.simulator.deployment.registry import group_name
from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.result import ModelPackage
from evenshard.simulator.steps.outcome import Outcome, StepRun

_DEFAULT_APPROVAL = "PendingManualApproval"


def run_register(run: StepRun) -> Outcome:
    """Register a model.

    Raises:
        StepFailedError: the model or its metrics do not exist.
    """
    arguments, workspace = run.arguments, run.workspace
    containers = arguments["InferenceSpecification"]["Containers"]
    if len(containers) != 1:
        raise DefinitionError(
            f"{run.path}.InferenceSpecification.Containers",
            f"{len(containers)} containers; the simulator registers models of exactly 1.",
        )
    model_uri = containers[0]["ModelDataUrl"]
    if not workspace.store.exists(model_uri):
        raise StepFailedError(f"ValidationException: there is no object {model_uri}.")
    group = group_name(arguments["ModelPackageGroupName"])
    approval = arguments.get("ModelApprovalStatus", _DEFAULT_APPROVAL)
    metrics = _metrics(run)
    model_file = workspace.store.local_file(model_uri)
    registered = workspace.registry.register(
        group,
        {
            "execution_id": workspace.execution_id,
            "approval_status": approval,
            "model_data": model_uri,
            "model_file": str(model_file) if model_file else None,
            "metrics": metrics,
            "request": arguments,
        },
    )
    package = ModelPackage(
        group=group,
        version=registered.version,
        approval_status=approval,
        model_data=model_uri,
        metrics=metrics,
    )
    return Outcome(
        properties={
            **arguments,
            "ModelPackageArn": registered.arn,
            "ModelPackageVersion": registered.version,
            "ModelPackageStatus": "Completed",
            "ModelApprovalStatus": approval,
        },
        package=package,
    )


def _metrics(run: StepRun) -> dict[str, Any]:
    quality = run.arguments.get("ModelMetrics", {}).get("ModelQuality", {})
    if "Statistics" not in quality:
        return {}
    uri = quality["Statistics"]["S3Uri"]
    try:
        content = json.loads(run.workspace.store.read(uri))
    except (OSError, ValueError) as error:
        raise StepFailedError(
            f"ValidationException: metrics {uri} cannot be read: {error}."
        ) from error
    if not isinstance(content, dict):
        raise StepFailedError(f"ValidationException: metrics {uri} are no JSON object.")
    return content
