"""A training step is not cached.

The cache key leaves out ResourceConfig and the contents of S3 objects: new data under the same
prefix, or another number of hosts, would silently give the old model.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, inside
from infra.pipeline.validation.problem import Problem

ID: Final = "training-not-cached"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the cache settings of training steps."""
    for step in definition.of_kind(TRAINING):
        if inside(step.raw, "CacheConfig", "Enabled") is True:
            yield Problem(
                path=f"{step.path}.CacheConfig.Enabled",
                rule=ID,
                wrong="true; allowed: false, since the cache looks neither at the number of hosts "
                "nor at the contents of the data",
                fix="Remove CacheConfig",
            )
