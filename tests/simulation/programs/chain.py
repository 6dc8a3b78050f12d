"""The trainer, writing down which records each update was made of: `epoch step id id ...`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from training.pytorch import train
from training.trainer.keeping import Keeping

if TYPE_CHECKING:
    from training.records import Batch

FILE = Path(os.environ["SM_OUTPUT_DATA_DIR"]) / f"updates-of-rank-{os.environ['RANK']}.txt"
step_done = Keeping.step_done


def note_step(keeping: Keeping[Any], records: int, loss: Any, batch: "Batch | None") -> None:  # noqa: ANN401 - the framework's tensor
    ids = [] if batch is None else [record["id"] for record in batch.records]
    words = [keeping.progress.epoch, keeping.progress.step + 1, *ids]
    with FILE.open("a") as file:
        file.write(" ".join(map(str, words)) + "\n")
    step_done(keeping, records, loss, batch)


with mock.patch.object(Keeping, "step_done", note_step):
    train.main()
