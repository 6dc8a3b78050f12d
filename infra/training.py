"""The training stack: the Preflight function and, for each framework, image, roles and pipeline."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from infra.access.data import DataAccess
from infra.access.jobs import EvaluationRole, JobAccess, TrainingRole
from infra.access.pipeline import PipelineAccess, PipelineRole
from infra.images import TrainingImage
from infra.pipeline.definition import pipeline_definition
from infra.pipeline.deployment import Deployment, JobNetwork, pipeline_name
from infra.pipeline.validation import check
from infra.preflight import PreflightFunction
from infra.settings import Settings
from infra.stack import EnvironmentStack, environment_tags
from infra.storage import StorageStack
from training.contract.layout import PYTORCH, TENSORFLOW

_CONSTRUCT_IDS: Final = MappingProxyType({PYTORCH: "PyTorch", TENSORFLOW: "TensorFlow"})
"""Start the logical ids of a framework's resources: a new one would replace them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """What training pipelines stand on."""

    storage: StorageStack
    network: JobNetwork | None
    """None: SageMaker's own."""


class TrainingStack(EnvironmentStack):
    """One training pipeline for each framework, on the data of the storage stack."""

    def __init__(
        self, scope: Construct, construct_id: str, *, settings: Settings, foundation: Foundation
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            settings=settings,
            description="training pipelines, their roles, images and model registries",
        )
        preflight = PreflightFunction(
            self, "Preflight", bucket=foundation.storage.data_bucket, settings=settings.preflight
        )
        self.preflight_log = preflight.log_group
        for framework in settings.frameworks:
            TrainingPipeline(
                self,
                _CONSTRUCT_IDS[framework],
                framework=framework,
                settings=settings,
                foundation=foundation,
                preflight_function_arn=preflight.function.function_arn,
            )


class TrainingPipeline(Construct):
    """The pipeline of one framework, with what only this pipeline uses."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        framework: str,
        settings: Settings,
        foundation: Foundation,
        preflight_function_arn: str,
    ) -> None:
        super().__init__(scope, construct_id)
        name = pipeline_name(settings.prefix, framework)
        storage, own = foundation.storage, settings.of_framework(framework)
        image = TrainingImage(self, "Image", framework=framework, settings=own.image)
        data = DataAccess(
            storage_stack_name=storage.stack_name,
            bucket=storage.data_bucket,
            key=storage.key,
            image_repository_arn=image.repository_arn,
        )
        training, evaluation = (
            JobAccess(data=data, network=foundation.network, have_volumes=hosts.have_volumes)
            for hosts in (settings.training, settings.evaluation)
        )
        deployment = Deployment(
            framework=framework,
            bucket_name=storage.data_bucket.bucket_name,
            key_arn=storage.key.key_arn,
            image_uri=image.uri,
            training_role_arn=TrainingRole(self, "TrainingRole", access=training).role.role_arn,
            evaluation_role_arn=EvaluationRole(
                self, "EvaluationRole", access=evaluation
            ).role.role_arn,
            preflight_function_arn=preflight_function_arn,
            model_package_group_name=name,
            network=foundation.network,
            encrypt_traffic=settings.network.encrypt_traffic,
            tags=environment_tags(settings),
        )
        role = PipelineRole(
            self,
            "PipelineRole",
            access=PipelineAccess(pipeline_name=name, deployment=deployment, data=data),
        ).role
        pipeline = self._pipeline(name, settings, deployment, role.role_arn)
        if settings.target.has_model_package_groups:
            pipeline.add_resource_dependency(self._model_package_group(name))
        else:
            self._output(
                "ModelsCommand",
                f"aws sagemaker create-model-package-group --model-package-group-name {name}",
                "Once, before the first start: CloudFormation makes no such group in this region",
            )
        self._outputs(name)

    def _pipeline(
        self, name: str, settings: Settings, deployment: Deployment, role_arn: str
    ) -> sagemaker.CfnPipeline:
        definition = pipeline_definition(settings, deployment)
        check(definition)
        return sagemaker.CfnPipeline(
            self,
            "Pipeline",
            pipeline_name=name,
            pipeline_description="Trains on sharded data, evaluates, registers what passes",
            # The key is PascalCase and the text is made by CDK, which resolves tokens inside.
            pipeline_definition={
                "PipelineDefinitionBody": Stack.of(self).to_json_string(definition)
            },
            # Its steps wait for each other anyhow; a step added by mistake beside them would not.
            parallelism_configuration={"MaxParallelExecutionSteps": 1},
            role_arn=role_arn,
        )

    def _model_package_group(self, name: str) -> sagemaker.CfnModelPackageGroup:
        group = sagemaker.CfnModelPackageGroup(
            self,
            "Models",
            model_package_group_name=name,
            model_package_group_description=f"Models of pipeline {name}",
        )
        # SageMaker refuses to delete a group that has versions, so no model is lost here; one that
        # stayed would keep the next deployment from making its own. Source: docs/facts.md 8.
        group.apply_removal_policy(RemovalPolicy.DESTROY)
        return group

    def _outputs(self, pipeline_name: str) -> None:
        self._output("PipelineName", pipeline_name)
        self._output(
            "StartCommand",
            f"aws sagemaker start-pipeline-execution --pipeline-name {pipeline_name}",
            "Or in the console: SageMaker Studio, Pipelines, Execute; no input needed",
        )

    def _output(self, name: str, value: str, description: str | None = None) -> None:
        # In the stack's own scope: a readable name, without a hash.
        CfnOutput(Stack.of(self), f"{self.node.id}{name}", value=value, description=description)
