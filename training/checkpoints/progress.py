"""How far a job has come: the same on all ranks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(slots=True, kw_only=True)
class Progress:
    """What is done of a job."""

    epoch: int = 0
    """Epochs done: the number of the one that goes on, counted from 0."""
    is_trained: bool = False
    """Every step of that epoch is done; its validation is not."""
    step: int = 0
    """Optimizer updates done, over all epochs."""
    records: int = 0
    """Records that all ranks together have used of that epoch."""
    train_loss: float = 0.0
    """Mean of that epoch."""

    def step_done(self, records: int) -> None:
        """Count one update with so many records of all ranks."""
        self.step += 1
        self.records += records

    def trained(self, train_loss: float) -> None:
        """Note that every step of the epoch is done."""
        self.is_trained, self.train_loss = True, train_loss

    def validated(self) -> None:
        """Note that the epoch is done."""
        self.epoch += 1
        self.is_trained, self.records = False, 0

    def to_json(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Progress":
        """Read what `to_json` returned."""
        return cls(**content)
