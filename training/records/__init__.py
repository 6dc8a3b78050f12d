"""The data layer: a host's private, uneven set of shards in, exact batches for its ranks out.

A job's ranks call `find_shards` on their host's channel directory, make a `RecordLoader` for their
part, `agree` with each other once per epoch and then iterate over `RecordLoader.epoch`;
`steps_of_epoch` does both, also where the records are not counted beforehand.
"""

from training.records.agreement import agree
from training.records.batch import Batch
from training.records.counting import SharedCounting
from training.records.epoch import RecordEpoch
from training.records.errors import AgreementError, RecordError, StateError
from training.records.holdings import AllGather
from training.records.loader import RecordLoader
from training.records.packed import Packed
from training.records.plan import EpochPlan
from training.records.settings import LoaderSettings
from training.records.shards import Shard, find_shards
from training.records.voting import Step, steps_of_epoch

__all__ = [
    "AgreementError",
    "AllGather",
    "Batch",
    "EpochPlan",
    "LoaderSettings",
    "Packed",
    "RecordEpoch",
    "RecordError",
    "RecordLoader",
    "Shard",
    "SharedCounting",
    "StateError",
    "Step",
    "agree",
    "find_shards",
    "steps_of_epoch",
]
