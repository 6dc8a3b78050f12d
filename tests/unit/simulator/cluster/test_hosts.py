import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from evenshard.repository import ROOT
from evenshard.simulator.cluster import hosts
from evenshard.simulator.cluster.hosts import HostCommand, JobTimeoutError, RunningHosts, run_hosts
from evenshard.simulator.cluster.network import free_ports
from evenshard.simulator.marked import marked_processes
from evenshard.simulator.processes import clean_environment

# A child in a session of its own, as torchrun starts its ranks: no process group holds it.
ORPHAN = (
    "import subprocess, sys; "
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
    " start_new_session=True, stdout=subprocess.DEVNULL)"
)
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('up', flush=True); time.sleep(600)"
)

UNSHUFFLED = "random.SystemRandom.shuffle = lambda *_: None"
"""All would take the first ports, if they could."""

Make = Callable[..., HostCommand]


@pytest.fixture
def command(tmp_path: Path) -> Make:
    def make(host: str, code: str) -> HostCommand:
        base_dir = tmp_path / host
        base_dir.mkdir()
        return HostCommand(
            host=host,
            base_dir=base_dir,
            arguments=[sys.executable, "-c", code],
            environment={**clean_environment(), "SAGEMAKER_BASE_DIR": str(base_dir)},
            working_directory=tmp_path,
        )

    return make


def left_of(command: HostCommand) -> list[int]:
    return marked_processes(f"SAGEMAKER_BASE_DIR={command.base_dir}")


def test_lines_of_all_hosts_arrive_and_stay_in_their_logs(command: Make) -> None:
    seen: list[tuple[str, str]] = []
    code = "import sys; print('out'); print('err', file=sys.stderr); print('no newline', end='')"
    commands = [command("algo-1", code), command("algo-2", code)]
    exits = run_hosts(commands, lambda *line: seen.append(line), limit_s=60)
    assert [host_exit.return_code for host_exit in exits] == [0, 0]
    for each in commands:
        assert sorted(line for host, line in seen if host == each.host) == [
            "err",
            "no newline",
            "out",
        ]
        assert "no newline" in (each.base_dir / "log.txt").read_text()


def test_a_host_is_over_with_its_first_process(command: Make) -> None:
    host = command("algo-1", ORPHAN)
    (host_exit,) = run_hosts([host], lambda *_: None, limit_s=60)
    assert host_exit.return_code == 0
    assert left_of(host) == []


def test_the_search_for_leftovers_finds_such_a_child(command: Make) -> None:
    host = command("algo-1", ORPHAN)
    subprocess.run(host.arguments, env=dict(host.environment), check=True)
    (pid,) = left_of(host)
    os.kill(pid, signal.SIGKILL)


def test_a_failed_host_stops_the_others(command: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_PEERS_GRACE_S", 0.3)
    waiting = command("algo-1", "import time; time.sleep(600)")
    failing = command("algo-2", "raise SystemExit(3)")
    exits = run_hosts([waiting, failing], lambda *_: None, limit_s=60)
    assert [(e.return_code, e.stopped) for e in exits] == [(-signal.SIGTERM, True), (3, False)]


def test_hosts_that_notice_the_failure_themselves_are_not_stopped(command: Make) -> None:
    slow = command("algo-1", "import time; time.sleep(0.5); raise SystemExit(4)")
    exits = run_hosts([slow, command("algo-2", "raise SystemExit(3)")], lambda *_: None, limit_s=60)
    assert [(e.return_code, e.stopped) for e in exits] == [(4, False), (3, False)]


def test_the_time_limit_ends_even_a_host_that_ignores_the_signal(
    command: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "STOP_GRACE_S", 0.3)
    host = command("algo-1", STUBBORN)
    with pytest.raises(JobTimeoutError):
        run_hosts([host], lambda *_: None, limit_s=1)
    assert left_of(host) == []


def once(act: Callable[[RunningHosts], None]) -> hosts.Watch:
    """Act on the hosts when they are up, and never again."""
    acted: list[bool] = []

    def watch(running: RunningHosts) -> None:
        logs = [each.command.base_dir / "log.txt" for each in running.running]
        up = all(log.is_file() and log.read_text() for log in logs)
        if up and not acted:
            acted.append(True)
            act(running)

    return watch


def test_a_told_host_that_ignores_it_is_killed_after_the_grace(command: Make) -> None:
    host = command("algo-1", STUBBORN)
    (host_exit,) = run_hosts(
        [host],
        lambda *_: None,
        limit_s=60,
        grace_s=0.3,
        watch=once(lambda running: running.tell("algo-1")),
    )
    assert (host_exit.return_code, host_exit.told, host_exit.stopped) == (
        -signal.SIGKILL,
        True,
        False,
    )


def test_only_the_named_host_is_told(command: Make) -> None:
    code = "import time; print('up', flush=True); time.sleep(1)"
    exits = run_hosts(
        [command("algo-1", code), command("algo-2", code)],
        lambda *_: None,
        limit_s=60,
        watch=once(lambda running: running.tell("algo-2")),
    )
    assert [(e.return_code, e.told) for e in exits] == [(0, False), (-signal.SIGTERM, True)]


def test_a_lost_host_is_gone_with_all_its_processes(command: Make) -> None:
    host = command("algo-1", f"{ORPHAN}; print('up', flush=True); import time; time.sleep(600)")
    (host_exit,) = run_hosts(
        [host], lambda *_: None, limit_s=60, watch=once(lambda running: running.lose("algo-1"))
    )
    assert (host_exit.return_code, host_exit.lost) == (-signal.SIGKILL, True)
    assert left_of(host) == []


def test_a_deaf_survivor_is_no_timeout(command: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_PEERS_GRACE_S", 0.2)
    failing = "import time; time.sleep(0.5); raise SystemExit(3)"
    exits = run_hosts(
        [command("algo-1", STUBBORN), command("algo-2", failing)],
        lambda *_: None,
        limit_s=60,
        grace_s=0.3,
    )
    assert [(e.return_code, e.stopped) for e in exits] == [(-signal.SIGKILL, True), (3, False)]


def test_an_interrupt_ends_every_process(command: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "INTERRUPT_GRACE_S", 0.3)

    def interrupt(_host: str, _line: str) -> None:
        raise KeyboardInterrupt

    orphan = command("algo-1", f"{ORPHAN}; import time; time.sleep(600)")
    stubborn = command("algo-2", STUBBORN)
    with pytest.raises(KeyboardInterrupt):
        run_hosts([orphan, stubborn], interrupt, limit_s=60)
    assert left_of(orphan) == left_of(stubborn) == []


def test_an_interrupted_host_may_finish_what_it_does_on_sigterm(command: Make) -> None:
    code = (
        "import pathlib, signal, sys, time\n"
        "def stop(*_):\n"
        "    time.sleep(0.3); pathlib.Path('saved').write_text('state'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, stop); print('up', flush=True); time.sleep(600)"
    )
    host = command("algo-1", code)

    def interrupt(_host: str, _line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_hosts([host], interrupt, limit_s=60)
    assert (host.working_directory / "saved").read_text() == "state"


def test_children_get_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    environment = clean_environment()
    assert not any("AWS" in name for name in environment)
    assert "PYTHONPATH" not in environment
    assert environment["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)


def test_too_few_free_ports_are_an_error() -> None:
    with pytest.raises(OSError, match="of 20000 ports are free"):
        free_ports(20_000)


def test_no_two_simulators_give_out_the_same_ports() -> None:
    code = (
        "from evenshard.simulator.cluster import network; "
        "print(network.free_ports(60), flush=True); input()"
    )
    given = []
    with ExitStack() as stack:
        for _ in range(4):
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", f"import random; {UNSHUFFLED}; {code}"],
                    env={**os.environ, "PYTHONPATH": str(ROOT)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            assert process.stdout is not None
            given += json.loads(process.stdout.readline())
    assert len(set(given)) == 4 * 60


def test_free_ports_differ() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(15_000 <= port < 32_000 for port in ports)
