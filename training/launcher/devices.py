"""How many training processes a host runs."""

import logging
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from training.contract.errors import ContractError
from training.contract.layout import DEVICES_PER_HOST_VARIABLE, PEERS_VARIABLE

_LOG = logging.getLogger(__name__)


class DevicesError(ContractError):
    """This host does not know its devices; another one may know its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The devices of one host. Each gets one rank."""

    count: int
    gpus: int
    """How many of them are GPUs: all or none."""


def find_devices(environment: Mapping[str, str]) -> Devices:
    """Count the devices: as the environment says, else one per GPU, else one.

    Raises:
        DevicesError: the given count is not a positive integer, or the GPUs cannot be listed.
    """
    given = environment.get(DEVICES_PER_HOST_VARIABLE)
    if given is not None:
        if not given.isascii() or not given.isdigit() or int(given) < 1:
            raise DevicesError(
                f"{DEVICES_PER_HOST_VARIABLE} is {given!r}. Give an integer >= 1, or unset it to "
                "have the GPUs counted."
            )
        if PEERS_VARIABLE not in environment:  # simulated hosts have none
            _LOG.warning(_ON_PROCESSORS, DEVICES_PER_HOST_VARIABLE, given)
        return Devices(count=int(given), gpus=0)
    gpus = count_gpus()
    return Devices(count=gpus or 1, gpus=gpus)


def count_gpus() -> int:
    """Count the lines of `nvidia-smi -L`; 0 where there is no such program.

    Raises:
        DevicesError: the program is there and fails. Going on would train on the processor of a
            GPU instance, slowly, without anybody being told.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0
    listing = subprocess.run([program, "-L"], capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        said = (listing.stderr or listing.stdout).strip()
        raise DevicesError(
            f"`nvidia-smi -L` exited with {listing.returncode}: {said}. Mend the driver, or set "
            f"{DEVICES_PER_HOST_VARIABLE} to train without GPUs."
        )
    return sum(line.startswith("GPU ") for line in listing.stdout.splitlines())


_ON_PROCESSORS = (
    "%s is %s: so many ranks train on the processors of this host, whatever GPUs it has. Unset it "
    "to have one rank per GPU."
)
