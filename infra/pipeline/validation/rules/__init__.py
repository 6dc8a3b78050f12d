"""What this project refuses although SageMaker would take it, or would only fail later.

One rule is one module: `ID`, a docstring that says why, and `check`. Add the module to `RULES`,
and a passing and a failing case to tests/definition/test_rules.py.
"""

from collections.abc import Callable, Iterator
from typing import Final

from infra.pipeline.validation.document import Definition
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.rules import (
    branches_are_closed,
    checkpoints_are_of_one_execution,
    hyperparameter_values_are_short,
    image_names_are_fixed,
    jobs_are_isolated,
    jobs_are_retried,
    jobs_have_a_limit,
    json_get_waits_for_its_file,
    max_wait_needs_spot,
    metric_regexes_capture,
    no_literal_secrets,
    outputs_are_encrypted,
    parameter_names_are_camel_case,
    processing_paths,
    spot_needs_checkpoint,
    spot_needs_max_wait,
    train_channel_is_sharded,
    training_has_hosts,
    training_is_not_cached,
    training_paths,
    volume_key_needs_volume,
    warm_pool_excludes_spot,
    whole_channels_are_replicated,
)

Rule = Callable[[Definition], Iterator[Problem]]

RULES: Final[dict[str, Rule]] = {
    branches_are_closed.ID: branches_are_closed.check,
    checkpoints_are_of_one_execution.ID: checkpoints_are_of_one_execution.check,
    hyperparameter_values_are_short.ID: hyperparameter_values_are_short.check,
    image_names_are_fixed.ID: image_names_are_fixed.check,
    jobs_are_isolated.ID: jobs_are_isolated.check,
    jobs_are_retried.ID: jobs_are_retried.check,
    jobs_have_a_limit.ID: jobs_have_a_limit.check,
    json_get_waits_for_its_file.ID: json_get_waits_for_its_file.check,
    max_wait_needs_spot.ID: max_wait_needs_spot.check,
    metric_regexes_capture.ID: metric_regexes_capture.check,
    no_literal_secrets.ID: no_literal_secrets.check,
    outputs_are_encrypted.ID: outputs_are_encrypted.check,
    parameter_names_are_camel_case.ID: parameter_names_are_camel_case.check,
    processing_paths.ID: processing_paths.check,
    spot_needs_checkpoint.ID: spot_needs_checkpoint.check,
    spot_needs_max_wait.ID: spot_needs_max_wait.check,
    train_channel_is_sharded.ID: train_channel_is_sharded.check,
    training_has_hosts.ID: training_has_hosts.check,
    training_is_not_cached.ID: training_is_not_cached.check,
    training_paths.ID: training_paths.check,
    volume_key_needs_volume.ID: volume_key_needs_volume.check,
    warm_pool_excludes_spot.ID: warm_pool_excludes_spot.check,
    whole_channels_are_replicated.ID: whole_channels_are_replicated.check,
}


def check_rules(definition: Definition) -> Iterator[Problem]:
    """Judge a definition by every rule."""
    for rule in RULES.values():
        yield from rule(definition)
