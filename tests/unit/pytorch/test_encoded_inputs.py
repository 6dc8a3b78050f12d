import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.unit.records import reference_encoding as reference
from tests.unit.records.host_data import host_loaders, write_shards
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.task import new_model
from training.pytorch.tasks.text import TextTask
from training.pytorch.tasks.text_bag import BagInputs
from training.records import Batch, LoaderSettings, RecordError

TEXTS = ["Only 100% free!!", "", "again again", "Grüße aus 東京"]


def settings(**more: Any) -> TrainingHyperparameters:  # noqa: ANN401 - of any field
    return TrainingHyperparameters(hash_buckets=5000, embedding_dim=4, hidden_dim=3, **more)


def batch_of(folder: Path, *records: dict[str, Any], output: str = "packed") -> Batch:
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    write_shards(folder, {"a.jsonl": content})
    loader_settings = LoaderSettings(batch_size=10_000, seed=0, shuffle=False, output=output)
    (loader,) = host_loaders(folder, loader_settings)
    (batch,) = loader.epoch(0)
    return batch


@pytest.mark.parametrize("output", ["packed", "records"])
@pytest.mark.parametrize("ngrams", [1, 3])
@pytest.mark.parametrize("repeat", [1, 60])
def test_records_become_weighted_bags(
    tmp_path: Path, output: str, ngrams: int, repeat: int
) -> None:
    records = [{"text": text, "label": n % 2} for n, text in enumerate(TEXTS)] * repeat
    task = TextTask(settings(ngrams=ngrams, dtype="float64"))
    inputs = task.encode(batch_of(tmp_path, *records, output=output))
    assert isinstance(inputs, BagInputs)
    bags = [reference.bag(text, ngrams, 5000) for text in TEXTS] * repeat
    bounds = [*inputs.starts.tolist(), len(inputs.ngrams)]
    assert [inputs.ngrams[a:b].tolist() for a, b in pairwise(bounds)] == bags
    weights = [len(bag) ** -0.5 for bag in bags for _ in bag]
    assert inputs.weights.tolist() == pytest.approx(weights, rel=1e-15)
    assert inputs.labels.tolist() == [0, 1, 0, 1] * repeat
    assert inputs.weights.dtype == inputs.labels.dtype == torch.float64
    assert inputs.ngrams.dtype == inputs.starts.dtype == torch.int64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logits_are_those_of_single_records(tmp_path: Path, dtype: str) -> None:
    task = TextTask(settings(dtype=dtype))
    model = new_model(task)
    records = [{"text": text, "label": 1} for text in TEXTS]
    together = model(task.encode(batch_of(tmp_path, *records)))
    assert together.dtype == getattr(torch, dtype)
    alone = [model(task.encode(batch_of(tmp_path, record))).item() for record in records]
    assert together.tolist() == pytest.approx(alone, rel=1e-5)
    assert len(set(alone)) == len(alone)


def test_a_bad_record_is_located(tmp_path: Path) -> None:
    batch = batch_of(tmp_path, {"text": "a", "label": 0}, {"text": "b", "label": 2})
    with pytest.raises(RecordError) as caught:
        TextTask(settings()).encode(batch)
    message = "a.jsonl, line 2: label is 2. Allowed: the integer 0 or 1."
    assert str(caught.value) == message
