"""What one host is to do."""

from dataclasses import dataclass

from training.contract.cluster import Cluster
from training.contract.hyperparameters import TrainingHyperparameters
from training.launcher.devices import Devices


@dataclass(frozen=True, slots=True, kw_only=True)
class HostJob:
    """One host's part of a training job."""

    cluster: Cluster
    devices: Devices
    command: list[str]
    """What every rank runs: `--module NAME`, or a script and its arguments."""
    own_trainer: bool
    """False: a script of the user's runs."""
    environment: dict[str, str]
    settings: TrainingHyperparameters
    """Where a script of the user's runs, what the launcher reads and else the defaults."""

    @property
    def first_rank(self) -> int:
        """The global rank of local rank 0. All hosts of a job have as many devices."""
        return self.cluster.host_rank * self.devices.count

    @property
    def ranks(self) -> range:
        """The global ranks of this host."""
        return range(self.first_rank, self.first_rank + self.devices.count)

    @property
    def world_size(self) -> int:
        """Ranks of all hosts."""
        return len(self.cluster.hosts) * self.devices.count
