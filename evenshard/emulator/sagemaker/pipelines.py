"""The pipelines that are deployed: kept by moto, asked for through the API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import boto3
from botocore.exceptions import ClientError

from evenshard.emulator.sagemaker.errors import NOT_FOUND, ServiceError

_NOBODY: Final = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedPipeline:
    """One pipeline."""

    name: str
    arn: str
    definition: str
    parallelism: Mapping[str, Any] | None


@dataclass(slots=True)
class DeployedPipelines:
    """DescribePipeline, with one client per endpoint and region: making one takes a while."""

    _clients: dict[tuple[str, str], Any] = field(default_factory=dict)

    def find(self, name_or_arn: str, *, endpoint_url: str, region: str) -> DeployedPipeline:
        """Find a pipeline.

        Raises:
            ServiceError: there is none of this name in the region.
        """
        name = name_or_arn.rpartition("pipeline/")[2]
        try:
            found = self._client(endpoint_url, region).describe_pipeline(PipelineName=name)
        except ClientError as error:
            if error.response["Error"]["Code"] != NOT_FOUND:
                raise
            raise ServiceError(
                NOT_FOUND,
                f"Pipeline '{name}' does not exist in {region}. Deploy it, or name another: "
                "list-pipelines says which there are.",
            ) from error
        return DeployedPipeline(
            name=found["PipelineName"],
            arn=found["PipelineArn"],
            definition=found["PipelineDefinition"],
            parallelism=found.get("ParallelismConfiguration"),
        )

    def _client(self, endpoint_url: str, region: str) -> Any:  # noqa: ANN401 - boto3's own type
        place = (endpoint_url, region)
        if place not in self._clients:
            self._clients[place] = boto3.client(
                "sagemaker",
                endpoint_url=endpoint_url,
                region_name=region,
                aws_access_key_id=_NOBODY,
                aws_secret_access_key=_NOBODY,
            )
        return self._clients[place]
