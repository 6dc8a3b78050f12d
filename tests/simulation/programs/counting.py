"""The trainer, writing down the id of each record it trains on or validates with."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest import mock

from training.pytorch import loop, train
from training.records import Batch
from training.records.encoding import EncodedBatch, encode_ahead
from training.records.encoding.ahead import Encode

FILE = Path(os.environ["SM_OUTPUT_DATA_DIR"]) / f"ids-of-rank-{os.environ['RANK']}.txt"


def count_what_is_used(batches: Iterable[Batch], encode: Encode) -> Iterator[EncodedBatch]:
    for encoded in encode_ahead(batches, encode):
        with FILE.open("a") as file:
            file.writelines(f"{record['id']}\n" for record in encoded.batch.records)
        yield encoded


with mock.patch.object(loop, "encode_ahead", count_what_is_used):
    train.main()
