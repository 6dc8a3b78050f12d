from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from tests.unit.pytorch.batches import json_batch
from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.task import new_model
from training.pytorch.tasks.text import TextTask
from training.records import RecordError

ARCHITECTURES = pytest.mark.parametrize("architecture", ["bag", "transformer"])
TEXTS = ["Only 100% free!!", "", "again again", "Grüße aus 東京 und anderswo"]


def settings(**more: Any) -> TrainingHyperparameters:  # noqa: ANN401 - of any field
    return TrainingHyperparameters(
        hash_buckets=64, embedding_dim=4, hidden_dim=4, attention_heads=2, max_words=3, **more
    )


@ARCHITECTURES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_logits_and_losses_have_the_chosen_type(
    tmp_path: Path, dtype: Literal["float32", "float64"], architecture: str
) -> None:
    task = TextTask(settings(dtype=dtype, architecture=architecture))
    model = new_model(task)
    inputs = task.encode(json_batch(tmp_path, [{"text": "a b", "label": 1}] * 3, task))
    logits = model(inputs)
    losses = task.record_losses(logits, inputs)
    expected = {"float32": torch.float32, "float64": torch.float64}[dtype]
    assert {weight.dtype for weight in model.parameters()} == {expected} == {task.dtype}
    assert logits.dtype == losses.dtype == expected
    assert logits.shape == losses.shape == (3,)


@ARCHITECTURES
def test_a_record_stands_for_itself(tmp_path: Path, architecture: str) -> None:
    task = TextTask(settings(architecture=architecture, dtype="float64"))
    model = new_model(task)
    records = [{"text": text, "label": 1} for text in TEXTS]
    together = model(task.encode(json_batch(tmp_path, records, task)))
    alone = [model(task.encode(json_batch(tmp_path, [record], task))).item() for record in records]
    assert together.tolist() == pytest.approx(alone, rel=1e-12)
    assert len(set(alone)) == len(alone)


@ARCHITECTURES
def test_a_text_without_words_reaches_weights_and_is_finite(
    tmp_path: Path, architecture: str
) -> None:
    task = TextTask(settings(architecture=architecture))
    model = new_model(task)
    inputs = task.encode(json_batch(tmp_path, [{"text": "?", "label": 1}], task))
    task.record_losses(model(inputs), inputs).sum().backward()  # type: ignore[no-untyped-call] # torch's
    for weight in model.parameters():
        assert weight.grad is not None
        assert torch.isfinite(weight.grad).all()


def test_the_transformer_sees_the_order_of_words_the_bag_does_not(tmp_path: Path) -> None:
    records = [{"text": "dog bites man", "label": 0}, {"text": "man bites dog", "label": 0}]
    for architecture, differs in (("transformer", True), ("bag", False)):
        task = TextTask(settings(architecture=architecture, ngrams=1))
        first, second = new_model(task)(task.encode(json_batch(tmp_path, records, task))).tolist()
        assert (abs(first - second) > 1e-4) is differs


def test_the_transformer_reads_max_words(tmp_path: Path) -> None:
    task = TextTask(settings(architecture="transformer"))
    texts = ["a b c d", "a b c", "a b"]
    records = [{"text": text, "label": 0} for text in texts]
    inputs = task.encode(json_batch(tmp_path, records, task))
    assert inputs.words.shape == (3, 3)  # type: ignore[union-attr] # this architecture's inputs
    first, second, third = new_model(task)(inputs).tolist()
    assert first == second != third


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    wrong = TrainingHyperparameters(architecture="transformer", embedding_dim=6, attention_heads=4)
    with pytest.raises(ContractError, match="embedding_dim is 6, which attention_heads 4"):
        TextTask(wrong)


@ARCHITECTURES
def test_initial_weights_follow_from_the_seed_alone(architecture: str) -> None:
    torch.manual_seed(1)
    first = new_model(TextTask(settings(architecture=architecture, seed=3))).state_dict()
    state = torch.random.get_rng_state()
    torch.manual_seed(2)
    second = new_model(TextTask(settings(architecture=architecture, seed=3))).state_dict()
    other = new_model(TextTask(settings(architecture=architecture, seed=4))).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["output.weight"], other["output.weight"])
    torch.manual_seed(1)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_predictions_are_labels() -> None:
    assert TextTask(settings()).predict(torch.tensor([-1.0, 0.0, 2.0])).tolist() == [0, 0, 1]


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
    task = TextTask(settings())
    batch = json_batch(tmp_path, [{"text": "good", "label": 0}, record], task)
    with pytest.raises(RecordError, match=r"part-00000\.jsonl, line 2: .*" + message):
        task.encode(batch)
