"""The loader as a dataset of torch, with the state that torchdata's StatefulDataLoader keeps.

`DataLoader(dataset, batch_size=None)`: batches are made here already.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info

from training.records.loader import RecordLoader


class RecordDataset(IterableDataset[Any]):
    """The data of the batches of one rank, epoch after epoch."""

    def __init__(self, loader: RecordLoader, epoch: int) -> None:
        """Wrap a loader.

        Args:
            loader: Of this rank.
            epoch: The first to iterate over, counted from 0.
        """
        self._loader = loader
        self._epoch = epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration is over."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        if worker is not None and worker.num_workers > 1:
            raise ValueError(
                f"num_workers={worker.num_workers}: each worker would read all records of the rank."
                " Set it to 0, the loader reads ahead by itself, or to 1."
            )
        for batch in self._loader.epoch(self._epoch):
            yield batch.data

    def state_dict(self) -> dict[str, Any]:
        """Return the state after the batch that was handed out last."""
        if self._loader.has_begun:
            return {"epoch": self._epoch, "ranks": [self._loader.state_dict()]}
        return {"epoch": self._epoch, "ranks": []}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state.

        Args:
            state: What `state_dict` returned on this rank. To go on with other shards or ranks,
                "ranks" must hold those of all ranks: `[state["ranks"][0] for state in states]`.

        Raises:
            StateError: The state is damaged or does not fit, see RecordLoader.load_state_dict.
        """
        self._epoch = int(state["epoch"])
        if state["ranks"]:
            self._loader.load_state_dict(state["ranks"])
