import json
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.task import TextTask
from training.records import Batch, LoaderSettings, RecordError, RecordLoader, find_shards

SMALL = TrainingHyperparameters(hash_buckets=64, embedding_dim=4, hidden_dim=4, seed=3)


def make_batch(folder: Path, records: list[dict[str, Any]]) -> Batch:
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "part-00000.jsonl").write_text(text)
    settings = LoaderSettings(batch_size=len(records), seed=0, shuffle=False)
    (batch,) = RecordLoader(find_shards(folder), settings=settings, part=0, parts=1).epoch(0)
    return batch


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_logits_and_losses_have_the_chosen_type(
    tmp_path: Path, dtype: Literal["float32", "float64"]
) -> None:
    task = TextTask(TrainingHyperparameters(hash_buckets=64, dtype=dtype))
    model = task.build_model()
    inputs = task.encode(make_batch(tmp_path, [{"text": "a b", "label": 1}] * 3))
    logits = model(inputs)
    losses = task.record_losses(logits, inputs)
    expected = {"float32": torch.float32, "float64": torch.float64}[dtype]
    assert {weight.dtype for weight in model.parameters()} == {expected}
    assert logits.dtype == losses.dtype == expected
    assert logits.shape == losses.shape == (3,)


def test_a_text_without_words_is_legal_and_has_a_zero_bag(tmp_path: Path) -> None:
    task = TextTask(SMALL)
    model = task.build_model()
    inputs = task.encode(make_batch(tmp_path, [{"text": "?", "label": 1}]))
    bag = model.bag(inputs.ngrams, inputs.starts, per_sample_weights=inputs.weights)
    assert bag.tolist() == [[0.0] * 4]
    task.record_losses(model(inputs), inputs).sum().backward()  # type: ignore[no-untyped-call] # torch's
    assert all(weight.grad is not None for weight in model.parameters())


def test_a_filler_reaches_every_weight() -> None:
    # DDP waits for a gradient of each.
    task = TextTask(SMALL)
    model = task.build_model()
    inputs = task.filler()
    (task.record_losses(model(inputs), inputs).sum() * 0.0).backward()  # type: ignore[no-untyped-call] # torch's
    for weight in model.parameters():
        assert weight.grad is not None
        assert not weight.grad.any()


def test_initial_weights_follow_from_the_seed_alone() -> None:
    torch.manual_seed(1)
    first = TextTask(SMALL).build_model().state_dict()
    state = torch.random.get_rng_state()
    torch.manual_seed(2)
    second = TextTask(SMALL).build_model().state_dict()
    other = TextTask(TrainingHyperparameters(hash_buckets=64, embedding_dim=4, hidden_dim=4))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["bag.weight"], other.build_model().state_dict()["bag.weight"])
    torch.manual_seed(1)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_predictions_are_labels() -> None:
    assert TextTask(SMALL).predict(torch.tensor([-1.0, 0.0, 2.0])).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": "a"}, r"the record has no label \(it has: text\)"),
        ({"label": 1}, r"the record has no text \(it has: label\)"),
        ({}, "it has: no field at all"),
        ({"text": 5, "label": 1}, "text is a int. Allowed: a string"),
        ({"text": "a", "label": 2}, "label is 2. Allowed: the integer 0 or 1"),
        ({"text": "a", "label": True}, "label is True. Allowed"),
        ({"text": "a", "label": 1.0}, r"label is 1\.0\. Allowed"),
        ({"text": "a", "label": "spam"}, "label is 'spam'. Allowed"),
        ({"text": "a", "label": None}, "label is None. Allowed"),
    ],
)
def test_a_record_that_is_none_is_located(
    tmp_path: Path, record: dict[str, Any], message: str
) -> None:
    batch = make_batch(tmp_path, [{"text": "good", "label": 0}, record])
    with pytest.raises(RecordError, match=r"part-00000\.jsonl, line 2: .*" + message):
        TextTask(SMALL).encode(batch)
