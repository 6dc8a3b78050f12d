import pytest

from training.records import EpochPlan, RecordError
from training.trainer.report import check_validation


def test_a_validation_of_nothing_is_refused() -> None:
    with pytest.raises(RecordError, match="The validation channel holds no records"):
        check_validation(EpochPlan(counts=(0, 0), batch_size=4))
    check_validation(EpochPlan(counts=(0, 1), batch_size=4))
