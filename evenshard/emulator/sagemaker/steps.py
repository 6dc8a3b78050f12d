"""Steps as ListPipelineExecutionSteps describes them."""

from collections.abc import Mapping
from typing import Any, Final

from evenshard.emulator.sagemaker.state import FAILED, StepState
from evenshard.simulator.pipeline.definition import Step

Json = dict[str, Any]
_JOB_KINDS: Final = {"Training": "TrainingJob", "Processing": "ProcessingJob"}


def step_document(state: StepState, step: Step) -> Json:
    """One member of PipelineExecutionSteps.

    Args:
        state: how far it is.
        step: the same step in the definition.
    """
    document: Json = {
        "StepName": state.name,
        "StartTime": state.started_s,
        "StepStatus": state.status,
        "AttemptCount": state.attempts,
        "Metadata": _metadata(state, step),
    }
    optional = {
        "StepDisplayName": step.fields.get("DisplayName"),
        "StepDescription": step.fields.get("Description"),
        "EndTime": state.ended_s,
        "FailureReason": state.failure_reason,
    }
    return document | {name: value for name, value in optional.items() if value is not None}


def _metadata(state: StepState, step: Step) -> Json:
    properties = state.properties
    if state.type in _JOB_KINDS:
        return {_JOB_KINDS[state.type]: {"Arn": state.job.arn}} if state.job else {}
    if state.type == "Fail" and state.status == FAILED:
        return {"Fail": {"ErrorMessage": state.failure_reason}}
    if state.type == "Lambda":
        outputs = properties.get("OutputParameters", {})
        return {
            "Lambda": {
                "Arn": step.fields["FunctionArn"],
                "OutputParameters": [
                    {"Name": name, "Value": text_of(value)} for name, value in outputs.items()
                ],
            }
        }
    if state.type == "Condition" and properties:
        return {"Condition": {"Outcome": properties["Outcome"]}}
    if state.type == "RegisterModel" and properties:
        return {"RegisterModel": {"Arn": properties["ModelPackageArn"]}}
    return {}


def text_of(value: object) -> str:
    """A parameter's or an output's value as the API writes it: a string, whatever its type."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parameters_document(values: Mapping[str, Any]) -> list[Json]:
    """Members of PipelineParameters."""
    return [{"Name": name, "Value": text_of(value)} for name, value in values.items()]
