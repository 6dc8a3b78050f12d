"""The hosts of a training job. Source: docs/facts.md 4."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.contract.errors import ContractError
from training.contract.json_files import read_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """All hosts of a job and the one that this container runs on."""

    hosts: tuple[str, ...]
    """In numeric order: algo-2 before algo-10."""
    current_host: str
    network_interface_name: str
    """The interface that peers are reached by."""
    instance_type: str | None = None
    """None where resourceconfig.json does not tell."""
    instance_group: str | None = None

    @classmethod
    def from_file(cls, path: Path) -> "Cluster":
        """Read resourceconfig.json.

        Raises:
            ContractError: the file is missing, malformed, or does not list the current host.
        """
        config = read_object(path)
        hosts = _host_names(path, config)
        current_host = config.get("current_host")
        if current_host not in hosts:
            raise ContractError(
                f"{path}: current_host is {current_host!r}, which is not one of the hosts "
                f"{', '.join(hosts)}. Name one of them."
            )
        return cls(
            hosts=hosts,
            current_host=current_host,
            network_interface_name=str(config.get("network_interface_name") or "eth0"),
            instance_type=config.get("current_instance_type"),
            instance_group=config.get("current_group_name"),
        )

    @property
    def host_rank(self) -> int:
        """The current host's place among the hosts, from 0."""
        return self.hosts.index(self.current_host)

    @property
    def chief(self) -> str:
        """The host of global rank 0."""
        return self.hosts[0]

    @property
    def is_chief(self) -> bool:
        """Whether global rank 0 runs here."""
        return self.current_host == self.chief


def numeric_order(host: str) -> tuple[str, int]:
    """A sort key that puts algo-2 before algo-10."""
    prefix = host.rstrip("0123456789")
    digits = host[len(prefix) :]
    return prefix, int(digits) if digits else -1


def _host_names(path: Path, config: dict[str, Any]) -> tuple[str, ...]:
    hosts = config.get("hosts")
    if (
        not isinstance(hosts, list)
        or not hosts
        or not all(isinstance(host, str) and host for host in hosts)
        or len(set(hosts)) != len(hosts)
    ):
        raise ContractError(
            f'{path}: hosts is {hosts!r}. Give a list of distinct names, ["algo-1", "algo-2"].'
        )
    return tuple(sorted(hosts, key=numeric_order))
