"""How a rank joins the others."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evenshard.repository import ROOT
from training.contract.layout import TOLD_FILE_VARIABLE

pytestmark = pytest.mark.timeout(120)  # TensorFlow starts; two noisy cores

JOIN = "from training.tensorflow.ranks import join_ranks\nwith join_ranks(): print('joined')"


@pytest.mark.parametrize("is_told", [False, True])
def test_a_stop_that_came_while_the_ranks_met_is_not_forgotten(
    *, tmp_path: Path, is_told: bool
) -> None:
    told = tmp_path / "told"
    if is_told:
        told.touch()
    done = subprocess.run(
        [sys.executable, "-c", JOIN],
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", TOLD_FILE_VARIABLE: str(told)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout) == ((-signal.SIGTERM, "") if is_told else (0, "joined\n"))
