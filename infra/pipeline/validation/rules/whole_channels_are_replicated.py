"""Channels that every host needs whole are not sharded.

Each host evaluates its part of `validation` by position, which is right only where all hosts see
the same files; half a vocabulary or half a model is no vocabulary and no model.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import PROCESSING, TRAINING, Definition, inside
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.wording import shown
from training.contract.layout import MODEL_INPUT, TEST_INPUT, VALIDATION_CHANNEL, VOCABULARY_CHANNEL

ID: Final = "whole-channel-replicated"
WHOLE: Final = (VALIDATION_CHANNEL, TEST_INPUT, MODEL_INPUT, VOCABULARY_CHANNEL)
REPLICATED: Final = "FullyReplicated"

PLACES: Final = (
    (TRAINING, "InputDataConfig", "ChannelName", ("DataSource", "S3DataSource")),
    (PROCESSING, "ProcessingInputs", "InputName", ("S3Input",)),
)
"""Step type, its list of inputs, the key of their name, where their S3 source is."""


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the inputs of training and processing steps."""
    for kind, place, name_key, source in PLACES:
        for step in definition.of_kind(kind):
            for path, item in step.items(place):
                name = item.get(name_key)
                given = inside(item, *source, "S3DataDistributionType")
                # Absent means FullyReplicated in both APIs.
                if name in WHOLE and given not in (None, REPLICATED):
                    yield Problem(
                        path=".".join([path, *source, "S3DataDistributionType"]),
                        rule=ID,
                        wrong=f"{shown(given)}; allowed for {name!r}: {REPLICATED!r}",
                        fix=f"Write {REPLICATED!r}: every host needs all of it",
                    )
