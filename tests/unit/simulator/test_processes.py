"""What is left of the children of a process that ends, however it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evenshard.repository import ROOT
from evenshard.simulator.marked import marked_processes

PROGRAM = """
import sys
from pathlib import Path
from evenshard.simulator.processes import clean_environment, finish_if_killed, start

mark, folder = sys.argv[1], Path(sys.argv[2])
# A child and its child, in sessions of their own.
code = (
    "import subprocess, sys, time; quiet = subprocess.DEVNULL; "
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
    " start_new_session=True, stdout=quiet, stderr=quiet); "
    "print('up', flush=True); time.sleep(600)"
)
child = start(
    [sys.executable, "-c", code],
    environment={**clean_environment(), "TEST_MARK": mark},
    working_directory=folder,
)
child.stdout.readline()
finish_if_killed(folder / "draft", folder / "result")
print("started", flush=True)
sys.stdin.read()
child.kill()
child.communicate()
"""


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with children, one of them an orphan's parent."""
    (folder / "draft").write_text("killed")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        # One may just be between its birth and its environment.
        assert happens(lambda: len(left_of(folder)) == 2)
        yield process


def left_of(folder: Path) -> list[int]:
    return marked_processes(f"TEST_MARK={folder}")


def happens(condition: Callable[[], bool], limit_s: float = 20) -> bool:
    deadline_s = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.05)
    return True


def test_nothing_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
    assert happens(lambda: not left_of(tmp_path))
    assert happens((tmp_path / "result").exists)
    assert (tmp_path / "result").read_text() == "killed"


def test_nothing_is_done_to_what_a_process_leaves_that_ends_by_itself(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    [orphan] = left_of(tmp_path)  # whoever starts such a child ends it: `run_hosts` does
    os.kill(orphan, signal.SIGKILL)
    assert (tmp_path / "draft").exists()
    assert not (tmp_path / "result").exists()
