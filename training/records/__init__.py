"""The data layer: a host's private, uneven set of shards in, exact batches for its ranks out.

A job's ranks call `find_shards` on their host's channel directory, make a `RecordLoader` for their
part, `agree` with each other once per epoch and then iterate over `RecordLoader.epoch`.
"""

from training.records.agreement import AllGather, EpochPlan, agree
from training.records.batch import Batch
from training.records.errors import AgreementError, RecordError
from training.records.loader import LoaderSettings, RecordLoader
from training.records.shards import Shard, find_shards

__all__ = [
    "AgreementError",
    "AllGather",
    "Batch",
    "EpochPlan",
    "LoaderSettings",
    "RecordError",
    "RecordLoader",
    "Shard",
    "agree",
    "find_shards",
]
