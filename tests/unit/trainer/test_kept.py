"""What a rank sums up in an epoch, before and after an interruption, on as many ranks or others."""

from pathlib import Path

import pytest

from tests.unit.trainer.toys import Numbers, Rank
from training.checkpoints import NO_TROUBLE
from training.contract.hyperparameters import TrainingHyperparameters
from training.records import EpochPlan, LoaderSettings, RecordLoader, find_shards
from training.trainer.kept import KeptTraining

RECORDS = 10
BATCH_SIZE = 2


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(RECORDS)))
    return tmp_path


def make(
    shards: Path, rank: int, ranks: int, batches_per_update: int = 1
) -> tuple[KeptTraining[float], RecordLoader]:
    settings = LoaderSettings(batch_size=BATCH_SIZE, seed=1, shuffle=False)
    loader = RecordLoader(find_shards(shards), settings=settings, part=rank, parts=ranks)
    numbers = Numbers()
    hyperparameters = TrainingHyperparameters(
        learning_rate=0.1, gradient_accumulation_steps=batches_per_update
    )
    kept = KeptTraining(numbers, numbers, loader, Rank(rank, ranks), hyperparameters)
    return kept, loader


def interrupted(shards: Path, ranks: int) -> list[dict[str, object]]:
    """What each rank says after its first step, of loss 1 + rank."""
    said = []
    for rank in range(ranks):
        kept, loader = make(shards, rank, ranks)
        kept.begin_epoch()
        batches = loader.epoch(0)
        kept.step_done(1, 1.0 + rank, next(batches))
        said.append(dict(kept.of_rank()))
        batches.close()
    return said


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_sums_go_on_whatever_the_number_of_ranks(shards: Path, ranks: int) -> None:
    said = interrupted(shards, 2)
    resumed = [make(shards, rank, ranks) for rank in range(ranks)]
    for kept, _ in resumed:
        kept.resume_epoch(said)
    assert sum(kept.losses.total() for kept, _ in resumed) == 3.0
    left = [loader.segment(0).records or 0 for _, loader in resumed]
    plan = EpochPlan(counts=tuple(left), batch_size=BATCH_SIZE)
    assert sum(left) == RECORDS - 2 * BATCH_SIZE
    for kept, _ in resumed:
        counts = kept.records_per_rank(plan)
        assert len(counts) == ranks
        assert sum(counts) == RECORDS


def test_a_new_epoch_starts_from_nothing(shards: Path) -> None:
    kept, loader = make(shards, 0, 1)
    kept.resume_epoch(interrupted(shards, 1))
    kept.begin_epoch()
    assert kept.losses.total() == 0.0
    plan = EpochPlan(counts=loader.counts, batch_size=BATCH_SIZE)
    assert kept.records_per_rank(plan) == [RECORDS]


def test_trouble_is_told_with_the_records_of_its_batch(shards: Path) -> None:
    kept, loader = make(shards, 0, 1)
    batches = loader.epoch(0)
    kept.step_done(7, 1.0, next(batches))
    assert kept.trouble() == NO_TROUBLE
    kept.step_done(8, float("nan"), next(batches))
    batches.close()
    assert kept.trouble() == 8
    assert kept.describe_trouble(8) == (
        "The training loss of step 8 is not finite on rank 0 (its batch: a.txt, line 3 to a.txt, "
        "line 4): a record holds what the model cannot take, or the weights have run away. "
        "learning_rate is 0.1; take a tenth of it."
    )


def test_trouble_within_an_update_is_told_with_the_batch_that_has_it(shards: Path) -> None:
    kept, loader = make(shards, 0, 1, batches_per_update=3)
    batches = loader.epoch(0)
    kept.step_done(1, 1.0, next(batches))
    kept.step_done(1, 1.0, next(batches))
    kept.step_done(1, 1.0, next(batches))
    # The update is whole, and the weights with it, before anybody looks.
    kept.step_done(2, 1.0, next(batches))
    kept.step_done(2, float("nan"), next(batches))
    kept.step_done(2, 1.0, None)
    assert kept.describe_trouble(kept.trouble()).startswith(
        "The training loss of step 2, batch 2 of its 3, is not finite on rank 0 (its batch: a.txt, "
        "line 9 to a.txt, line 10)"
    )


def test_trouble_without_records_says_so(shards: Path) -> None:
    kept, _ = make(shards, 0, 1)
    kept.step_done(3, float("nan"), None)
    assert "(its batch: without records of its own)" in kept.describe_trouble(kept.trouble())
