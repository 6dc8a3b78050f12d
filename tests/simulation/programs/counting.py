"""The trainer, writing down the id of each record it trains on or validates with."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from training.pytorch import train
from training.pytorch.task import Encoded
from training.pytorch.tasks.text import TextTask
from training.records import Batch

FILE = Path(os.environ["SM_OUTPUT_DATA_DIR"]) / f"ids-of-rank-{os.environ['RANK']}.txt"
encode_ahead = TextTask.encode_ahead


def count_what_is_used(task: TextTask, batches: Iterable[Batch]) -> Iterator[Encoded[Any]]:
    for encoded in encode_ahead(task, batches):
        with FILE.open("a") as file:
            file.writelines(f"{record['id']}\n" for record in encoded.batch.records)
        yield encoded


with mock.patch.object(TextTask, "encode_ahead", count_what_is_used):
    train.main()
