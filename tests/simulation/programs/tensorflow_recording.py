"""The TensorFlow trainer, writing down which records it uses, its vocabulary and its weights."""

import json
import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from unittest import mock

from training.records import Batch
from training.records.encoding import EncodedBatch, encode_ahead
from training.records.encoding.ahead import Encode
from training.tensorflow import learner as learning
from training.tensorflow import loop, train

FILE = Path(os.environ["SM_OUTPUT_DATA_DIR"]) / f"rank-{os.environ['RANK']}.json"
ids: list[str] = []
learners: list[learning.Learner] = []


class RecordedLearner(learning.Learner):
    """Remembered, to look at its weights afterwards."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type] # whatever the trainer gives
        learners.append(self)


def note_what_is_used(batches: Iterable[Batch], encode: Encode) -> Iterator[EncodedBatch]:
    for encoded in encode_ahead(batches, encode):
        ids.extend(record["id"] for record in encoded.batch.records)
        yield encoded


with (
    mock.patch.object(loop, "encode_ahead", note_what_is_used),
    mock.patch.object(train, "Learner", RecordedLearner),
):
    train.main()

(learner,) = learners
weights = b"".join(variable.numpy().tobytes() for variable in learner.model.weights)
report = {
    "ids": ids,
    "vocabulary": learner.task.vocabulary.words,
    "weights": sha256(weights).hexdigest(),
}
FILE.write_text(json.dumps(report))
