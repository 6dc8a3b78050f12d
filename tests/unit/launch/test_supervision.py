"""The launcher's own child: in a process of its own, since it reaps every child that it finds."""

import json
import subprocess
import sys
import time

import pytest

SUPERVISES = """
import json, os, sys
from training.launcher.stop import StopSignal
from training.launcher.supervision import supervise
command, ends = json.loads(sys.argv[1]), sys.argv[2:]
code = supervise(
    command, dict(os.environ), StopSignal(), **{name: (lambda: True) for name in ends}
)
print(code)
"""
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def supervised(program: str, *ends: str) -> tuple[int, float]:
    """The child's exit code as the launcher has it, and the seconds it took."""
    began_s = time.monotonic()
    command = json.dumps([sys.executable, "-c", program])
    done = subprocess.run(
        [sys.executable, "-c", SUPERVISES, command, *ends],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return int(done.stdout), time.monotonic() - began_s


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_is_the_childs(code: int) -> None:
    assert supervised(f"raise SystemExit({code})")[0] == code


def test_a_child_that_can_come_to_nothing_is_killed() -> None:
    assert supervised(STUBBORN, "is_lost")[0] == -9


def test_a_child_whose_job_is_over_is_killed_after_a_moment() -> None:
    code, seconds = supervised(STUBBORN, "is_over")
    assert code == -9
    assert seconds >= 5


def test_a_child_whose_job_is_over_may_end_by_itself() -> None:
    assert supervised("import time; time.sleep(0.5)", "is_over")[0] == 0
