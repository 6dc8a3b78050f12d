"""Reject: the execution fails, and says by how much."""

from infra.pipeline.expressions import Json
from infra.pipeline.parameters import Parameters
from infra.pipeline.sdk import Join
from infra.pipeline.steps.evaluate import SUMMARY

NAME = "Reject"


def reject(p: Parameters) -> Json:
    """End with Evaluate's numbers and the threshold. JsonGet is for conditions only."""
    return {
        "Name": NAME,
        "Type": "Fail",
        "DisplayName": "Refuse the model",
        "Description": "Ends the execution as failed, with the numbers",
        "Arguments": {
            "ErrorMessage": Join(
                on="",
                values=[
                    "Not registered: below QualityThreshold ",
                    p.quality_threshold,
                    ". Evaluate found: ",
                    SUMMARY,
                ],
            )
        },
    }
