"""Rules that turn failed executions and steps into messages a person can read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import aws_events as events
from constructs import Construct

_SOURCE = "aws.sagemaker"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    rule: str
    """End of the rule's name."""
    detail_type: str
    status_key: str
    statuses: Sequence[str]
    message: Mapping[str, str]
    """What is said first -> text, or the path of a value in the event.

    Names, ARNs and states only, or a whole object: EventBridge puts quotes around texts that it
    takes from events but escapes nothing in them, and writes objects as the JSON that they are. So
    a reason, which may hold quotes and line breaks, comes inside its object. Source: EventBridge
    user guide, "Common issues with transforming input".
    """


_STEP = _Kind(
    rule="step-failed",
    detail_type="SageMaker Model Building Pipeline Execution Step Status Change",
    status_key="currentStepStatus",
    statuses=["Failed"],
    message={
        "what": "A step of a training pipeline failed",
        "step": "$.detail.stepName",
        "execution": "$.detail.pipelineExecutionArn",
    },
)
_EXECUTION = _Kind(
    rule="execution-ended",
    detail_type="SageMaker Model Building Pipeline Execution Status Change",
    status_key="currentPipelineExecutionStatus",
    statuses=["Failed", "Stopped"],
    message={
        "what": "A training pipeline's execution ended without a model",
        "status": "$.detail.currentPipelineExecutionStatus",
        "execution": "$.detail.pipelineExecutionArn",
    },
)
_HEADING = "When a step fails"
"""Of the runbook."""


class FailureMessages(Construct):
    """One rule for steps, one for executions, of these pipelines only."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        prefix: str,
        pipeline_arns: Sequence[str],
        runbook: str,
        topic_arn: str,
    ) -> None:
        super().__init__(scope, construct_id)
        end = {"what to do": f"{runbook}, '{_HEADING}'", "details": "$.detail"}
        self.rule_names = [f"{prefix}-{kind.rule}" for kind in (_STEP, _EXECUTION)]
        for kind, name in zip((_STEP, _EXECUTION), self.rule_names, strict=True):
            events.CfnRule(
                self,
                kind.rule.title().replace("-", ""),
                name=name,
                description=kind.message["what"],
                event_pattern={
                    "source": [_SOURCE],
                    "detail-type": [kind.detail_type],
                    "detail": {
                        "pipelineArn": list(pipeline_arns),
                        kind.status_key: list(kind.statuses),
                    },
                },
                targets=[
                    events.CfnRule.TargetProperty(
                        id="topic",
                        arn=topic_arn,
                        input_transformer=_message({**kind.message, **end}),
                    )
                ],
            )


def _message(message: Mapping[str, str]) -> events.CfnRule.InputTransformerProperty:
    """A JSON object, one line for each thing said."""
    paths = {
        key.replace(" ", "_"): value for key, value in message.items() if value.startswith("$.")
    }
    lines = [
        f"{json.dumps(key)}: "
        + (f"<{key.replace(' ', '_')}>" if value.startswith("$.") else json.dumps(value))
        for key, value in message.items()
    ]
    return events.CfnRule.InputTransformerProperty(
        input_paths_map=paths, input_template="{\n  " + ",\n  ".join(lines) + "\n}"
    )
