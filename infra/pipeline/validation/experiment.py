"""The experiment that an execution is recorded in, where the definition names one."""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import Definition
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import References
from infra.pipeline.validation.structure import missing_keys, unknown_keys, wrong_type

KEYS: Final = ("ExperimentName", "TrialName")
PATH: Final = "PipelineExperimentConfig"


def check_experiment(definition: Definition) -> Iterator[Problem]:
    """Judge PipelineExperimentConfig; null switches experiments off."""
    config = definition.raw.get(PATH)
    if config is None:
        return
    if not isinstance(config, dict):
        yield wrong_type(config, "an object or null", PATH)
        return
    yield from unknown_keys(config, KEYS, PATH)
    yield from missing_keys(config, KEYS, PATH)
    references = References(definition)
    for key in KEYS:
        if key in config:
            yield from references.string(config[key], f"{PATH}.{key}")
