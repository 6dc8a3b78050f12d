"""SageMaker's pipelines and model package groups."""

from typing import Any, ClassVar, Self

from moto.core.common_models import CloudFormationModel
from moto.sagemaker.models import SageMakerModelBackend, sagemaker_backends

from evenshard.emulator.cloudformation.resource import Deployed, Place
from evenshard.emulator.model_packages import delete_group
from evenshard.emulator.pipelines import check_definition


class PipelineResource(Deployed, CloudFormationModel):
    """A pipeline whose definition is in the template."""

    TYPE: ClassVar[str] = "AWS::SageMaker::Pipeline"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset(
        {
            "ParallelismConfiguration",
            "PipelineDefinition",
            "PipelineDescription",
            "PipelineDisplayName",
            "PipelineName",
            "RoleArn",
            "Tags",
        }
    )
    NAME_PROPERTY: ClassVar[str] = "PipelineName"

    def create(self) -> None:
        """Make the pipeline.

        Raises:
            ValidationError: its definition is no JSON, which the service refuses as well.
        """
        _backend(self.place).create_pipeline(
            pipeline_name=self.name,
            pipeline_definition_s3_location={},
            tags=self.properties.get("Tags", []),
            **self._described(),
        )
        self.physical_resource_id = self.name

    def update(self, former: Self) -> None:
        """Change the pipeline; one of another name is another pipeline."""
        if former.name == self.name:
            _backend(self.place).update_pipeline(self.name, **self._described())
        else:
            super().update(former)

    def remove(self) -> None:
        """Delete the pipeline."""
        _backend(self.place).delete_pipeline(self.name)

    def _described(self) -> dict[str, Any]:
        body = self.properties["PipelineDefinition"]["PipelineDefinitionBody"]
        check_definition(self.name, body)
        return {
            "pipeline_display_name": self.properties.get("PipelineDisplayName"),
            "pipeline_definition": body,
            "pipeline_description": self.properties.get("PipelineDescription"),
            "role_arn": self.properties["RoleArn"],
            "parallelism_configuration": self.properties.get("ParallelismConfiguration"),
        }


class ModelPackageGroupResource(Deployed, CloudFormationModel):
    """A group of model versions."""

    TYPE: ClassVar[str] = "AWS::SageMaker::ModelPackageGroup"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset(
        {"ModelPackageGroupDescription", "ModelPackageGroupName", "Tags"}
    )
    NAME_PROPERTY: ClassVar[str] = "ModelPackageGroupName"
    ATTRIBUTES: ClassVar[frozenset[str]] = frozenset({"ModelPackageGroupArn"})

    def create(self) -> None:
        """Make the group; its ARN is what Ref gives."""
        self.physical_resource_id = _backend(self.place).create_model_package_group(
            self.name,
            self.properties.get("ModelPackageGroupDescription", ""),
            self.properties.get("Tags", []),
        )

    def remove(self) -> None:
        """Delete the group.

        Raises:
            ConflictException: it has versions, as in the service.
        """
        delete_group(_backend(self.place), self.name)

    @property
    def ModelPackageGroupArn(self) -> str:  # noqa: N802 - the attribute's name in CloudFormation
        """The group's ARN."""
        return self.physical_resource_id


def _backend(place: Place) -> SageMakerModelBackend:
    return sagemaker_backends[place.account][place.region]
