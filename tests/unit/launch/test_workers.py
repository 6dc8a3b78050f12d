"""The agent of TensorFlow's workers, with programs that need no TensorFlow."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenshard.repository import ROOT
from training.launcher.diagnosis import Evidence, collect

pytestmark = pytest.mark.timeout(240)

WAIT_S = 100
"""What takes longer hangs."""
FAIL = "raise ValueError('no such luck')"
EXIT_3 = "import sys; sys.exit(3)"
KILL_ITSELF = "import os; os.kill(os.getpid(), 9)"
WAIT = (
    "import os, pathlib, time; pathlib.Path(f'up-{os.environ[\"RANK\"]}').touch(); time.sleep(600)"
)
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAIT


def agent(folder: Path, programs: list[str]) -> subprocess.Popen[bytes]:
    """Start the agent with one worker per program; each runs its own, in `folder`."""
    script = folder / "program.py"
    script.write_text("import os\nexec(os.environ['PROGRAM'])\n")
    variables = [{"RANK": str(rank), "PROGRAM": program} for rank, program in enumerate(programs)]
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "training.launcher.workers", str(folder / "scratch")),
            *(json.dumps(variables), str(script), "--one", "two"),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )


def run(folder: Path, *programs: str) -> tuple[int, Evidence]:
    with agent(folder, list(programs)) as process:
        exit_code = process.wait(WAIT_S)
    return exit_code, collect(folder / "scratch")


def wait_for(*files: Path) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not all(file.exists() for file in files):
        assert time.monotonic() < deadline_s, files
        time.sleep(0.02)


def test_workers_that_end_well_leave_nothing(tmp_path: Path) -> None:
    check = "import sys; assert sys.argv[1:] == ['--one', 'two'], sys.argv"
    nothing = Evidence(exceptions={}, exit_codes={})
    assert run(tmp_path, check, check) == (0, nothing)


def test_an_exception_is_on_file_and_ends_the_others(tmp_path: Path) -> None:
    exit_code, evidence = run(tmp_path, WAIT, FAIL)
    assert exit_code == 1
    assert evidence.exceptions == {1: "ValueError: no such luck"}
    assert evidence.exit_codes == {0: -signal.SIGTERM, 1: 1}


@pytest.mark.parametrize(("program", "code"), [(EXIT_3, 3), (KILL_ITSELF, -9)])
def test_an_end_without_an_exception_is_told_by_its_code(
    tmp_path: Path, program: str, code: int
) -> None:
    exit_code, evidence = run(tmp_path, program)
    assert exit_code == 1
    assert evidence == Evidence(exceptions={}, exit_codes={0: code})


def test_who_had_to_be_killed_is_not_the_cause(tmp_path: Path) -> None:
    wait_then_fail = (
        f"import pathlib, time\nwhile not pathlib.Path('up-0').exists(): time.sleep(.02)\n{EXIT_3}"
    )
    exit_code, evidence = run(tmp_path, STUBBORN, wait_then_fail)
    assert exit_code == 1
    assert evidence.exit_codes == {1: 3}


def test_a_stop_reaches_every_worker(tmp_path: Path) -> None:
    with agent(tmp_path, [WAIT, WAIT]) as process:
        wait_for(tmp_path / "up-0", tmp_path / "up-1")
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 1
    assert collect(tmp_path / "scratch") == Evidence(
        exceptions={},
        exit_codes={0: -signal.SIGTERM, 1: -signal.SIGTERM},
        agent_error="stopped by SIGTERM",
    )


def test_without_one_that_is_gone_a_stop_is_not_waited_for(tmp_path: Path) -> None:
    # Like a rank that TensorFlow made deaf before it could meet the others.
    with agent(tmp_path, [WAIT, STUBBORN]) as process:
        wait_for(tmp_path / "up-0", tmp_path / "up-1")
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 1
    assert collect(tmp_path / "scratch").exit_codes == {0: -signal.SIGTERM}


def test_a_script_finds_its_neighbours_but_not_in_place_of_libraries(tmp_path: Path) -> None:
    # A script in the folder `training` must not find `training/tensorflow`.
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").write_text("raise RuntimeError('shadowed')")
    (tmp_path / "neighbour.py").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    variables = json.dumps(
        [{"PROGRAM": "import neighbour, sys; sys.modules.pop('json'); import json"}]
    )
    script = tmp_path / "program.py"
    script.write_text("import os\nexec(os.environ['PROGRAM'])\n")
    arguments = ["-m", "training.launcher.workers", str(elsewhere), variables, str(script)]
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0
