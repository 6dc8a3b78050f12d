from pathlib import Path

import pytest

from training.contract.layout import TOLD_FILE_VARIABLE
from training.trainer.stopping import StopFlag


def test_a_stop_counts_from_when_the_launcher_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal itself still has to come down, and the rank takes fast steps meanwhile."""
    told = tmp_path / "told"
    monkeypatch.setenv(TOLD_FILE_VARIABLE, str(told))
    flag = StopFlag()
    assert not flag.is_told()
    told.touch()
    assert flag.is_told()
