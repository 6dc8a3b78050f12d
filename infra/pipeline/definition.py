"""Assembles a training pipeline's definition: plain values in, plain JSON out."""

from infra.pipeline.deployment import Deployment
from infra.pipeline.expressions import Json, render
from infra.pipeline.parameters import Parameters
from infra.pipeline.steps.evaluate import evaluate
from infra.pipeline.steps.preflight import preflight
from infra.pipeline.steps.quality_gate import quality_gate
from infra.pipeline.steps.register import register
from infra.pipeline.steps.reject import reject
from infra.pipeline.steps.train import train
from infra.settings import Settings

VERSION = "2020-12-01"
"""Of the definition's language; there is no other."""


def pipeline_definition(settings: Settings, deployment: Deployment) -> Json:
    """The definition of one training pipeline. Equal arguments give equal values.

    Args:
        settings: defaults of the parameters, limits of the jobs.
        deployment: names and ARNs, CDK tokens among them.

    Returns:
        What CreatePipeline takes as PipelineDefinition, before it is written as JSON.
    """
    p = Parameters.from_settings(settings, deployment)
    own = settings.of_framework(deployment.framework)
    steps = [
        preflight(p, deployment, own),
        train(p, deployment, settings.training, own),
        evaluate(p, deployment, settings.evaluation),
        quality_gate(p, own, on_pass=[register(p, deployment)], on_fail=[reject(p)]),
    ]
    return {
        "Version": VERSION,
        "Metadata": {},
        "Parameters": p.declarations(),
        "Steps": [render(step) for step in steps],
    }
