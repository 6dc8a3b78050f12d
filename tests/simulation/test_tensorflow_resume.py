"""A TensorFlow training that was told to stop goes on and ends like an uninterrupted one."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.simulation.interrupted import STOPPED, go_on, interrupt, stored_checkpoints
from tests.simulation.launched import Host, Job, lines
from training.contract.breakpoints import STEP, Breakpoint
from training.contract.layout import TENSORFLOW

if TYPE_CHECKING:
    from subprocess import Popen

pytestmark = pytest.mark.timeout(400)  # TensorFlow starts in every rank, in three jobs; two cores

TOLERANCE = 1e-12
"""Of float64 weights: the ranks' gradients are added in an order that TensorFlow does not promise.
On processors no difference was seen."""
RECORDS = [{"text": f"word{number % 7} same {number}", "label": number % 2} for number in range(90)]


def job(folder: Path) -> Job:
    return Job(
        folder=folder,
        shards=({"a.jsonl": lines(RECORDS[:60])}, {"b.jsonl": lines(RECORDS[60:])}),
        validation=lines(RECORDS[:11]),
        hyperparameters={
            "epochs": "2",
            "batch_size": "2",
            "dtype": "float64",
            "vocabulary_size": "100",
            "embedding_dim": "4",
            "hidden_dim": "4",
            "stop_wait_s": "60",
        },
        devices_per_host=1,
        framework=TENSORFLOW,
    )


def tell_all(launchers: Sequence["Popen[str]"], _rank: int) -> None:
    for launcher in launchers:
        launcher.send_signal(signal.SIGTERM)


def last_variables(hosts: Sequence[Host]) -> dict[str, NDArray[np.float64]]:
    """Weights and the optimizer's state after the last epoch."""
    file = max((hosts[0].base_dir / "checkpoints").glob("step-*/rank-00000.npz"))
    assert file.parent.name == f"step-{60:09}"
    with np.load(file) as arrays:
        return dict(arrays)


def test_resumed_weights_equal_uninterrupted_ones(tmp_path: Path) -> None:
    moment = Breakpoint(id="moment", rank=1, point=STEP, number=6, is_of_a_stop=True)
    stopped = interrupt(job(tmp_path / "stopped"), moment, tell_all)
    assert [host.exit_code for host in stopped] == [0, 0], [host.log for host in stopped]
    assert STOPPED.search(stopped[1].log), stopped[1].log
    assert [host.model_files for host in stopped] == [[], []]
    resumed = go_on(job(tmp_path / "on"), stored_checkpoints(stopped, tmp_path / "stored"))
    whole = go_on(job(tmp_path / "whole"), None)
    assert [host.exit_code for host in (*resumed, *whole)] == [0] * 4, [h.log for h in resumed]
    assert "Going on from the checkpoint of step" in resumed[0].log
    ours, expected = last_variables(resumed), last_variables(whole)
    assert ours.keys() == expected.keys()
    assert len(ours) > 5
    worst = max(float(np.abs(ours[name] - expected[name]).max()) for name in ours)
    assert worst <= TOLERANCE
    with np.load(max((tmp_path / "stored").glob("step-*/rank-00000.npz"))) as before:
        # The rest of the training was not for nothing.
        assert np.abs(before["v00000"] - expected["v00000"]).max() > 1000 * TOLERANCE
