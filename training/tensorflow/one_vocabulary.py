"""Where the vocabulary of all hosts comes from: a channel, a checkpoint, or the records."""

import logging
from collections.abc import Iterator
from typing import Final

from training.checkpoints import Found
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import TRAIN_CHANNEL, VOCABULARY_CHANNEL
from training.contract.paths import ContainerPaths
from training.records import AgreementError, LoaderSettings, RecordLoader, find_shards
from training.records.encoding import example_output, read_examples
from training.records.packed import Packed
from training.tensorflow.kept_vocabulary import read_kept
from training.tensorflow.ranks import Ranks
from training.tensorflow.vocabulary import SPECIAL_ROWS, Vocabulary, count_vocabulary
from training.tensorflow.vocabulary_file import read_vocabulary

_LOG = logging.getLogger(__name__)
_COUNTING_BATCH_SIZE: Final = 1024


def one_vocabulary(
    paths: ContainerPaths, settings: TrainingHyperparameters, ranks: Ranks, found: Found
) -> Vocabulary:
    """The vocabulary of all hosts: that given, that of the checkpoint, else counted from records.

    Raises:
        AgreementError: on all ranks alike: the hosts were given different ones.
        CheckpointError: on all ranks alike: the checkpoint is of another training, or its
            vocabulary is not its own.
    """
    size = settings.vocabulary_size - SPECIAL_ROWS
    folder = paths.channel(VOCABULARY_CHANNEL)
    if folder.is_dir():
        vocabulary = read_vocabulary(folder, size=size, ngrams=settings.ngrams)
    elif (kept := read_kept(found, settings)) is not None:
        vocabulary = kept
    else:
        counting = _counting_loader(paths, settings, ranks)
        vocabulary = count_vocabulary(
            lambda: _texts(counting), ranks, size=size, ngrams=settings.ngrams
        )
    digests = [digest for (digest,) in ranks.all_gather([vocabulary.digest])]
    if len(set(digests)) > 1:
        raise AgreementError(
            f"The ranks have {len(set(digests))} different vocabularies. Set the "
            f"S3DataDistributionType of channel {VOCABULARY_CHANNEL} to FullyReplicated."
        )
    if vocabulary.unseen_count and ranks.is_chief:
        _LOG.warning(
            "Words that occur up to %d times may be missing from the vocabulary: there are too "
            "many different ones to count each. Lower ngrams or give a channel %s.",
            vocabulary.unseen_count,
            VOCABULARY_CHANNEL,
        )
    return vocabulary


def _counting_loader(
    paths: ContainerPaths, settings: TrainingHyperparameters, ranks: Ranks
) -> RecordLoader:
    """This rank's part of the training records, as they lie there."""
    chosen = settings.chosen_format
    shards = find_shards(paths.channel(TRAIN_CHANNEL), chosen_format=chosen)
    return RecordLoader(
        shards,
        settings=LoaderSettings(
            batch_size=_COUNTING_BATCH_SIZE,
            seed=0,
            shuffle=False,
            format=chosen,
            output=example_output(shards, chosen),
            count=False,
        ),
        part=ranks.local_rank,
        parts=ranks.local_world_size,
    )


def _texts(loader: RecordLoader) -> Iterator[Packed]:
    for batch in loader.epoch(0):
        yield read_examples(batch).texts
