"""QualityGate: the pipeline's only condition, since conditions cannot be nested."""

from infra.pipeline.expressions import Json
from infra.pipeline.parameters import Parameters
from infra.pipeline.sdk import ConditionGreaterThanOrEqualTo, JsonGet
from infra.pipeline.settings import FrameworkSettings
from infra.pipeline.steps import evaluate
from training.contract.hyperparameters import TASK, TEXT_TASK
from training.contract.layout import ACCURACY_PATH, QUALITY_PATH
from training.contract.parsing import decode

NAME = "QualityGate"


def quality_gate(
    p: Parameters, settings: FrameworkSettings, *, on_pass: list[Json], on_fail: list[Json]
) -> Json:
    """Compare the accuracy, or R² of a regression, on the test set with the threshold."""
    task = decode(settings.hyperparameters.get(TASK, TEXT_TASK))
    quality = JsonGet(
        step_name=evaluate.NAME,
        property_file=evaluate.EVALUATION,
        json_path=ACCURACY_PATH if task == TEXT_TASK else QUALITY_PATH,
    )
    return {
        "Name": NAME,
        "Type": "Condition",
        "DisplayName": "Good enough?",
        "Description": "Compares the quality on the test set with QualityThreshold",
        "Arguments": {
            "Conditions": [ConditionGreaterThanOrEqualTo(quality, p.quality_threshold)],
            "IfSteps": on_pass,
            "ElseSteps": on_fail,
        },
    }
