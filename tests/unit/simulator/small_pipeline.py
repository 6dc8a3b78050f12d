"""A pipeline that runs in a second: a function, a condition on its score, no jobs."""

from tests.unit.simulator.assemblies import (
    Json,
    condition_step,
    definition_of,
    fail_step,
    function_step,
)

PARAMETERS: list[Json] = [
    *(
        {"Name": f"{split}DataUri", "Type": "String", "DefaultValue": "s3://other/"}
        for split in ("Train", "Validation", "Test")
    ),
    {"Name": "InstanceCount", "Type": "Integer", "DefaultValue": 2},
    {"Name": "Threshold", "Type": "Float", "DefaultValue": 0.5},
]
HANDLER = """
def main(event, context):
    if event["count"] > 8:
        raise ValueError("too many hosts: set InstanceCount to 8 or less")
    return {"score": event["count"] / 4, "text": event["uri"]}
"""


def small_pipeline() -> Json:
    """A function's score against a threshold: two more functions or a Fail step."""
    arguments = {
        "count": {"Get": "Parameters.InstanceCount"},
        "uri": {"Get": "Parameters.TrainDataUri"},
    }
    look = function_step("Look", arguments, {"score": "Float", "text": "String"})
    score = {"Get": "Steps.Look.OutputParameters['score']"}
    passed = {
        "Type": "GreaterThanOrEqualTo",
        "LeftValue": score,
        "RightValue": {"Get": "Parameters.Threshold"},
    }
    again = function_step("Again", {"count": 1, "uri": "x"}, {"score": "Float"})
    reasons = ["score ", score, " is below ", {"Get": "Parameters.Threshold"}]
    reject = fail_step("Reject", {"Std:Join": {"On": "", "Values": reasons}})
    gate = condition_step("Gate", [passed], [again], [reject])
    return definition_of(look, gate, parameters=PARAMETERS)
