import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

import pytest

from evenshard.simulator.cluster.network import free_ports
from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.contract.layout import BULLETIN_VARIABLE, PEERS_VARIABLE
from training.launcher.company import Company, open_company
from training.launcher.stop import StopSignal

HOSTS = ("algo-1", "algo-2", "algo-3")
_Result = TypeVar("_Result")


def cluster(host: str) -> Cluster:
    return Cluster(hosts=HOSTS, current_host=host, network_interface_name="lo")


def on_hosts(
    acts: Mapping[str, Callable[[Company], _Result]],
) -> dict[str, _Result]:
    """Run something on the launchers of some hosts at the same time."""
    environment = {BULLETIN_VARIABLE: f"127.0.0.1:{free_ports(1)[0]}"}

    def run(host: str) -> _Result:
        with open_company(cluster(host), environment) as company:
            return acts[host](company)

    with ThreadPoolExecutor(len(acts)) as pool:
        return dict(zip(acts, pool.map(run, acts), strict=True))


def test_hosts_meet_and_learn_why_another_failed() -> None:
    def fail(company: Company) -> str | None:
        company.meet(4, StopSignal(), 10)
        company.tell_failure("algo-3, rank 11: no luck")
        return company.failure_elsewhere(StopSignal())

    def lose(company: Company) -> str | None:
        company.meet(4, StopSignal(), 10)
        return company.failure_elsewhere(StopSignal())

    said = on_hosts({"algo-1": lose, "algo-2": lose, "algo-3": fail})
    assert set(said.values()) == {"algo-3, rank 11: no luck"}


def test_a_host_that_does_not_start_is_named() -> None:
    def meet(company: Company) -> str:
        with pytest.raises(ContractError) as caught:
            company.meet(4, StopSignal(), 1)
        return str(caught.value)

    said = on_hosts({"algo-1": meet, "algo-3": meet})
    assert said["algo-1"].startswith(
        "algo-1: algo-2 did not start within 1 s (collective_timeout_s) after algo-"
    )


def test_hosts_with_other_devices_are_named() -> None:
    def meet(devices: int) -> Callable[[Company], str]:
        def act(company: Company) -> str:
            with pytest.raises(ContractError) as caught:
                company.meet(devices, StopSignal(), 10)
            return str(caught.value)

        return act

    said = on_hosts({"algo-1": meet(4), "algo-2": meet(2), "algo-3": meet(4)})
    assert "algo-1 has 4, algo-2 has 2, algo-3 has 4. All ranks" in said["algo-3"]


def test_a_stop_on_one_host_is_known_on_the_others() -> None:
    def told(company: Company) -> tuple[str, ...]:
        company.meet(1, StopSignal(), 10)
        company.tell_stop()
        return company.told_to_stop()

    def other(company: Company) -> tuple[str, ...]:
        company.meet(1, StopSignal(), 10)
        assert company.failure_elsewhere(StopSignal()) is None
        return company.told_to_stop()

    said = on_hosts({"algo-1": other, "algo-2": told, "algo-3": other})
    assert said == {"algo-1": ("algo-2",), "algo-2": (), "algo-3": ("algo-2",)}


def test_a_told_host_whose_ranks_are_gone_is_not_waited_for() -> None:
    def leave(company: Company) -> tuple[bool, bool]:
        company.meet(1, StopSignal(), 10)
        company.tell_stop()
        company.tell_left()
        return see_a_gap(company)

    def stay(company: Company) -> tuple[bool, bool]:
        company.meet(1, StopSignal(), 10)
        return see_a_gap(company)

    def see_a_gap(company: Company) -> tuple[bool, bool]:
        deadline_s = time.monotonic() + 10
        while not company.has_gaps and time.monotonic() < deadline_s:
            time.sleep(0.01)
        return company.has_gaps, company.has_failure

    said = on_hosts({"algo-1": stay, "algo-2": leave, "algo-3": stay})
    assert set(said.values()) == {(True, False)}


@pytest.mark.parametrize(
    ("end", "failed"),
    [
        (Company.tell_stop_early, False),
        (lambda company: company.tell_failure_early("no GPUs"), True),
    ],
    ids=["told to stop", "failed"],
)
def test_a_host_that_ends_before_the_others_met_it_is_not_waited_for(
    end: Callable[[Company], None], *, failed: bool
) -> None:
    def leave(company: Company) -> tuple[bool, bool]:
        end(company)
        return company.has_gaps, company.has_failure

    def meet(company: Company) -> tuple[bool, bool]:
        start_s = time.monotonic()
        company.meet(1, StopSignal(), 100)
        assert time.monotonic() - start_s < 20
        return company.has_gaps, company.has_failure

    said = on_hosts({"algo-1": meet, "algo-2": leave, "algo-3": meet})
    assert set(said.values()) == {(True, failed)}


def test_who_is_told_to_stop_does_not_wait_for_ever_to_be_heard() -> None:
    environment = {BULLETIN_VARIABLE: f"127.0.0.1:{free_ports(1)[0]}"}
    start_s = time.monotonic()
    with open_company(cluster("algo-2"), environment) as company:  # nobody keeps a board
        company.tell_stop_early()
    assert time.monotonic() - start_s < 20


@pytest.mark.parametrize(
    "act",
    [Company.tell_stop_early, lambda company: company.failure_elsewhere(StopSignal())],
    ids=["to be heard", "to hear"],
)
def test_nobody_waits_for_a_board_that_has_gone(act: Callable[[Company], object]) -> None:
    environment = {BULLETIN_VARIABLE: f"127.0.0.1:{free_ports(1)[0]}"}
    with ExitStack() as later:
        with open_company(cluster("algo-1"), environment) as chief:
            company = later.enter_context(open_company(cluster("algo-2"), environment))
            company.tell_places("they have met")
            deadline_s = time.monotonic() + 10
            while not chief.told_places() and time.monotonic() < deadline_s:
                time.sleep(0.01)
            assert chief.told_places()
        start_s = time.monotonic()
        act(company)
        assert time.monotonic() - start_s < 5


def test_a_signal_ends_the_wait_for_others() -> None:
    class Stopped(StopSignal):
        received = signal.SIGTERM

    with open_company(
        cluster("algo-1"), {BULLETIN_VARIABLE: f"127.0.0.1:{free_ports(1)[0]}"}
    ) as one:
        one.meet(1, Stopped(), 100)


def test_simulated_hosts_without_a_board_are_alone() -> None:
    with open_company(cluster("algo-1"), {PEERS_VARIABLE: "{}"}) as alone:
        alone.meet(1, StopSignal(), 100)
        alone.tell_failure("nobody hears this")
        assert alone.failure_elsewhere(StopSignal()) is None
        assert alone.told_to_stop() == ()
