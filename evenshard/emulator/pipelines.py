"""Pipelines where moto's differ from the service's: how they are found, and when they may go."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from moto.sagemaker import models
from moto.sagemaker.exceptions import ConflictException, ResourceNotFound, ValidationError
from moto.sagemaker.models import FakePipeline, SageMakerModelBackend

Running = Callable[[str], Sequence[str]]
"""A pipeline's ARN -> the ARNs of its executions that have not ended."""


@functools.cache
def teach_pipelines() -> None:
    """Change moto in this process; a second call does nothing."""
    # By name: they are functions of another module, which the backend calls by these names.
    vars(models)["get_pipeline_from_name"] = _found
    vars(models)["load_pipeline_definition_from_s3"] = _as_text(
        vars(models)["load_pipeline_definition_from_s3"]
    )
    backend = SageMakerModelBackend
    backend.create_pipeline = _checked(backend.create_pipeline)  # type: ignore[method-assign] # see above
    backend.update_pipeline = _checked(backend.update_pipeline)  # type: ignore[method-assign] # see above


def _found(pipelines: Mapping[str, FakePipeline], pipeline_name: str) -> FakePipeline:
    """Find a pipeline by name or ARN. moto knows no ARNs, and says that the request is invalid."""
    name = pipeline_name.rpartition(":pipeline/")[2]
    if name not in pipelines:
        raise ResourceNotFound(
            message=f"Pipeline '{name}' does not exist. Deploy it, or name another: list-pipelines "
            "says which there are."
        )
    return pipelines[name]


def _as_text(load: Callable[..., Any]) -> Callable[..., str]:
    """Keep a definition from S3 as the text that it is: moto keeps an object."""

    @functools.wraps(load)
    def load_text(*given: Any, **named: Any) -> str:  # noqa: ANN401 - passed on
        return json.dumps(load(*given, **named))

    return load_text


def check_definition(pipeline: str, text: str) -> None:
    """Refuse what no execution could read. What it says is judged when one starts.

    Raises:
        ValidationError: it is no JSON object.
    """
    try:
        definition = json.loads(text)
    except ValueError as error:
        raise ValidationError(f"{pipeline}: the definition is no JSON: {error}") from error
    if not isinstance(definition, dict):
        raise ValidationError(f"{pipeline}: the definition is no JSON object.")


def _checked(change: Callable[..., Any]) -> Callable[..., Any]:
    """Check the definition that a pipeline is made or updated with: moto takes any text."""

    @functools.wraps(change)
    def check(self: SageMakerModelBackend, pipeline_name: str, **named: Any) -> Any:  # noqa: ANN401 - passed on
        if named.get("pipeline_definition"):
            check_definition(pipeline_name, named["pipeline_definition"])
        return change(self, pipeline_name, **named)

    return check


@contextmanager
def pipelines_kept_while(running: Running) -> Iterator[None]:
    """Let no pipeline be deleted that has executions running, by whatever way, in this context."""
    delete = SageMakerModelBackend.delete_pipeline

    @functools.wraps(delete)
    def delete_idle(self: SageMakerModelBackend, pipeline_name: str) -> str:
        pipeline = _found(self.pipelines, pipeline_name)
        going_on = running(pipeline.arn)
        if going_on:
            raise ConflictException(
                f"Pipeline {pipeline.arn} has executions that have not ended: "
                f"{', '.join(going_on)}. Stop them (stop-pipeline-execution), then delete it."
            )
        return delete(self, pipeline.pipeline_name)

    SageMakerModelBackend.delete_pipeline = delete_idle  # type: ignore[method-assign] # see above
    try:
        yield
    finally:
        SageMakerModelBackend.delete_pipeline = delete  # type: ignore[method-assign] # see above
