"""QualityGate: the pipeline's only condition, since conditions cannot be nested."""

from sagemaker.core.workflow.conditions import ConditionGreaterThanOrEqualTo
from sagemaker.core.workflow.functions import JsonGet

from infra.pipeline.expressions import Json
from infra.pipeline.parameters import Parameters
from infra.pipeline.steps import evaluate
from training.contract.layout import ACCURACY_PATH

NAME = "QualityGate"


def quality_gate(p: Parameters, *, on_pass: list[Json], on_fail: list[Json]) -> Json:
    """Compare the accuracy on the test set with the threshold."""
    accuracy = JsonGet(
        step_name=evaluate.NAME, property_file=evaluate.EVALUATION, json_path=ACCURACY_PATH
    )
    return {
        "Name": NAME,
        "Type": "Condition",
        "Arguments": {
            "Conditions": [ConditionGreaterThanOrEqualTo(accuracy, p.quality_threshold)],
            "IfSteps": on_pass,
            "ElseSteps": on_fail,
        },
    }
