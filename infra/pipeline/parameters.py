"""The pipeline's parameters: what may differ from one execution to the next.

They are public. Renaming one breaks whoever starts the pipeline.
"""

from dataclasses import dataclass, fields

from infra.pipeline.deployment import Deployment
from infra.pipeline.expressions import Json
from infra.pipeline.sdk import Parameter, ParameterFloat, ParameterInteger, ParameterString
from infra.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """One object of sagemaker-core for each parameter, in the console's order."""

    train_data_uri: Parameter
    validation_data_uri: Parameter
    test_data_uri: Parameter
    instance_type: Parameter
    instance_count: Parameter
    evaluation_instance_type: Parameter
    epochs: Parameter
    batch_size: Parameter
    """Records of one rank and one step."""
    learning_rate: Parameter
    seed: Parameter
    allow_empty_hosts: Parameter
    quality_threshold: Parameter
    """Least accuracy, or R² of a regression, on the test set."""
    model_approval_status: Parameter

    @classmethod
    def from_settings(cls, settings: Settings, deployment: Deployment) -> "Parameters":
        """Declare every parameter with the default that the settings give it."""
        training, evaluation, gate = settings.training, settings.evaluation, settings.gate
        return cls(
            train_data_uri=ParameterString("TrainDataUri", deployment.data_uri("train")),
            validation_data_uri=ParameterString(
                "ValidationDataUri", deployment.data_uri("validation")
            ),
            test_data_uri=ParameterString("TestDataUri", deployment.data_uri("test")),
            instance_type=ParameterString(
                "InstanceType", training.instance_type, list(training.allowed_instance_types)
            ),
            instance_count=ParameterInteger("InstanceCount", training.instance_count),
            # A wrong type would show only after the GPUs have done their work: offer a list.
            evaluation_instance_type=ParameterString(
                "EvaluationInstanceType",
                evaluation.instance_type,
                list(evaluation.allowed_instance_types),
            ),
            epochs=ParameterInteger("Epochs", training.epochs),
            batch_size=ParameterInteger("BatchSize", training.batch_size),
            learning_rate=ParameterFloat("LearningRate", training.learning_rate),
            seed=ParameterInteger("Seed", training.seed),
            allow_empty_hosts=ParameterString("AllowEmptyHosts", "false", ["false", "true"]),
            quality_threshold=ParameterFloat("QualityThreshold", gate.quality_threshold),
            model_approval_status=ParameterString(
                "ModelApprovalStatus",
                gate.model_approval_status,
                ["PendingManualApproval", "Approved", "Rejected"],
            ),
        )

    def declarations(self) -> list[Json]:
        """The definition's Parameters."""
        return [getattr(self, field.name).to_request() for field in fields(self)]
