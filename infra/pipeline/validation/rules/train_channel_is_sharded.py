"""The channel `train` is ShardedByS3Key.

The trainer takes every record of its host's channel: on a replicated one, each host would train
on all the data, which costs n times as much and counts every record n times.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, as_mapping, inside
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.wording import shown
from training.contract.layout import TRAIN_CHANNEL

ID: Final = "train-channel-sharded"
SHARDED: Final = "ShardedByS3Key"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the train channels of training steps."""
    for step in definition.of_kind(TRAINING):
        for path, channel in step.items("InputDataConfig"):
            if channel.get("ChannelName") != TRAIN_CHANNEL or "DataSource" not in channel:
                continue
            source = as_mapping(inside(channel, "DataSource", "S3DataSource"))
            given = source.get("S3DataDistributionType", "FullyReplicated (the default)")
            if given != SHARDED:
                yield Problem(
                    path=f"{path}.DataSource.S3DataSource.S3DataDistributionType",
                    rule=ID,
                    wrong=f"{shown(given)}; allowed for channel {TRAIN_CHANNEL!r}: {SHARDED!r}",
                    fix=f"Write {SHARDED!r}: every host must read only its own shards",
                )
