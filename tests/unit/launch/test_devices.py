import os
from pathlib import Path

import pytest

from training.contract.errors import ContractError
from training.launcher.devices import Devices, count_gpus, find_devices


def install_nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")


def test_the_environment_decides() -> None:
    assert find_devices({"EVENSHARD_DEVICES_PER_HOST": "3"}) == Devices(count=3, gpus=0)


def test_a_count_that_is_set_on_a_real_host_says_what_it_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    find_devices({"EVENSHARD_DEVICES_PER_HOST": "3", "EVENSHARD_PEERS": "{}"})
    assert caplog.messages == []
    find_devices({"EVENSHARD_DEVICES_PER_HOST": "3"})
    (message,) = caplog.messages
    assert message.startswith("EVENSHARD_DEVICES_PER_HOST is 3: so many ranks train on the process")


@pytest.mark.parametrize("given", ["0", "-1", "two", "", "1.5", "²"])
def test_a_count_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(ContractError, match="Give an integer >= 1"):
        find_devices({"EVENSHARD_DEVICES_PER_HOST": given})


def test_one_device_where_no_gpu_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_devices({}) == Devices(count=1, gpus=0)


def test_gpus_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_nvidia_smi(
        tmp_path,
        monkeypatch,
        'test "$1" = -L && echo "GPU 0: A (UUID: x)" && echo "  MIG 1g" && echo "GPU 1: A"',
    )
    assert count_gpus() == 2
    assert find_devices({}) == Devices(count=2, gpus=2)


def test_a_broken_driver_is_not_taken_for_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_nvidia_smi(tmp_path, monkeypatch, "echo 'driver mismatch' >&2; exit 18")
    with pytest.raises(ContractError, match=r"exited with 18: driver mismatch\. Mend the driver"):
        find_devices({})
