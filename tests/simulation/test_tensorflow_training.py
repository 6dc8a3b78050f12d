"""Real runs of the TensorFlow trainer: exact on uneven shards, one vocabulary, equal weights."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.simulation.launched import Host, Job, finish, launch, lay, lines, running
from tests.simulation.tensorflow_reference import Reference, train_alone
from training.contract.hyperparameters import TrainingHyperparameters, user_of
from training.steps.confusion import Confusion
from training.tensorflow.evaluation import count_predictions

pytestmark = pytest.mark.timeout(300)  # TensorFlow starts in every rank; two noisy cores

# All operations of the model exist in float64, so nothing but the order of additions differs.
TOLERANCE = 1e-10
DEVICES_PER_HOST = 2
HYPERPARAMETERS = TrainingHyperparameters(
    epochs=2,
    batch_size=4,
    dtype="float64",
    seed=7,
    max_grad_norm=0.25,
    vocabulary_size=30,
    embedding_dim=8,
    hidden_dim=8,
)
WORDS = ("offer", "meeting", "Free", "money!", "report", "lunch", "click", "winner", "agenda")


def make_records(kind: str, first: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{kind}-{number}",
            "text": " ".join(WORDS[(number * k + k * k) % len(WORDS)] for k in range(number % 9)),
            "label": number * 7 % 3 % 2,
        }
        for number in range(first, first + count)
    ]


GIVEN_WORDS = ("free", "money", "free money", "meeting", "offer")

# 33 records on algo-1, 9 on algo-2: 16, 17, 4 and 5 on the ranks. With 4 records a step, ranks run
# out in steps 1, 2 and 4, some on a partial batch.
RECORDS = make_records("train", 0, 42)
SHARDS = (
    {"a.jsonl": lines(RECORDS[:23]), "nested/b.jsonl": lines(RECORDS[23:33])},
    {"c.jsonl": lines(RECORDS[33:])},
)
VALIDATION_RECORDS = make_records("validation", 100, 11)


def given(settings: TrainingHyperparameters) -> dict[str, str]:
    values = asdict(settings).items()
    return {name: str(value) for name, value in values if user_of(name) in (None, "tensorflow")}


def job(folder: Path, shards: Any, **more: str) -> Job:  # noqa: ANN401 - as Job takes them
    return Job(
        folder=folder,
        shards=shards,
        validation=lines(VALIDATION_RECORDS),
        hyperparameters={**given(HYPERPARAMETERS), **more},
        devices_per_host=DEVICES_PER_HOST,
        framework="tensorflow",
    )


@pytest.fixture(scope="module", autouse=True)
def floats() -> Iterator[None]:
    """What is trained here in float64 must not change what others make."""
    before = keras.config.floatx()
    yield
    keras.config.set_floatx(before)


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    program = "tests/simulation/programs/tensorflow_recording.py"
    hosts = launch(job(tmp_path_factory.mktemp("exact"), SHARDS, program=program))
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return hosts


@pytest.fixture(scope="module")
def with_empty_host(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    """The trainer itself, on a host with data and one without, with a vocabulary that is given."""
    empty = job(tmp_path_factory.mktemp("empty"), (SHARDS[0], {}), epochs="1")
    laid = lay(empty)
    for _, base_dir in laid:
        channel = base_dir / "input" / "data" / "vocabulary"
        channel.mkdir()
        (channel / "words.txt").write_text("".join(f"{word}\n" for word in GIVEN_WORDS))
    with running(empty, laid) as launchers:
        hosts = finish(laid, launchers)
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return hosts


def reports(hosts: list[Host]) -> list[dict[str, Any]]:
    """Of every rank, in order."""
    return [
        json.loads(file.read_text())
        for host in hosts
        for file in sorted((host.base_dir / "output" / "data").glob("rank-*.json"))
    ]


@pytest.fixture(scope="module")
def reference(exact: list[Host]) -> Reference:
    words = reports(exact)[0]["vocabulary"]
    return train_alone(exact, words, HYPERPARAMETERS, devices_per_host=DEVICES_PER_HOST)


def trained_weights(host: Host) -> list[Any]:
    model = keras.saving.load_model(host.base_dir / "model" / "model.keras")
    return [variable.numpy() for variable in model.weights]


def largest_difference(trained: list[Any], reference: Reference) -> float:
    pairs = zip(trained, reference.weights, strict=True)
    return max(float(abs(one - other).max()) for one, other in pairs)


def test_weights_equal_those_of_one_process(exact: list[Host], reference: Reference) -> None:
    trained = trained_weights(exact[0])
    assert [each.dtype for each in trained] == [np.float64] * 5
    assert largest_difference(trained, reference) < TOLERANCE
    moved = [abs(one - other).max() for one, other in zip(trained, reference.fresh, strict=True)]
    assert min(moved) > 1e-3  # the comparison is not one of weights that never changed


def test_taking_the_weighting_out_is_noticed(tmp_path: Path, reference: Reference) -> None:
    program = "tests/simulation/programs/tensorflow_unweighted.py"
    hosts = launch(job(tmp_path, SHARDS, program=program))
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    assert largest_difference(trained_weights(hosts[0]), reference) > 1e-4


def test_some_steps_were_clipped_and_some_were_not(reference: Reference) -> None:
    assert 0 < reference.clipped_steps < 10


def test_losses_are_means_over_all_records(exact: list[Host], reference: Reference) -> None:
    printed = re.findall(r"train_loss=([0-9.]+)", exact[0].log)
    assert printed == [f"{loss:.5f}" for loss in reference.losses]
    loss, accuracy = reference.validation
    assert f"validation_loss={loss:.5f}; validation_accuracy={accuracy:.5f};" in exact[0].log


def test_every_record_is_used_once_per_epoch(exact: list[Host]) -> None:
    used = Counter(name for report in reports(exact) for name in report["ids"])
    names = [record["id"] for record in (*RECORDS, *VALIDATION_RECORDS)]
    assert used == dict.fromkeys(names, HYPERPARAMETERS.epochs)


def test_all_ranks_have_one_vocabulary_and_equal_weights(exact: list[Host]) -> None:
    first, *others = reports(exact)
    assert len(others) == 3
    for name in ("vocabulary", "weights"):
        assert all(other[name] == first[name] for other in others)


def test_the_vocabulary_is_that_of_all_records_together(exact: list[Host]) -> None:
    (vocabulary,) = {tuple(report["vocabulary"]) for report in reports(exact)}
    layer = keras.layers.TextVectorization(ngrams=2)
    layer.adapt([record["text"] for record in RECORDS])
    adapted = layer.get_vocabulary(include_special_tokens=False)
    assert len(vocabulary) == HYPERPARAMETERS.vocabulary_size - 2 < len(adapted)
    # Of equally frequent words Keras takes others.
    assert len(set(vocabulary) & set(adapted[:28])) >= 20
    assert set(vocabulary) < set(adapted)


def test_only_the_chief_writes_a_model(with_empty_host: list[Host]) -> None:
    chief, other = with_empty_host
    top = sorted(path.name for path in (chief.base_dir / "model").iterdir())
    assert top == ["1", "config.json", "model.keras"]
    assert other.model_files == []
    config = json.loads((chief.base_dir / "model" / "config.json").read_text())
    assert config["framework"] == "tensorflow"
    assert config["complete"] is True
    assert (config["epochs"], config["records"], config["data_digest"]) == (1, 33, None)


def test_a_given_vocabulary_is_what_the_model_knows(with_empty_host: list[Host]) -> None:
    model = keras.saving.load_model(with_empty_host[0].base_dir / "model" / "model.keras")
    (vectorizer,) = (x for x in model.layers if isinstance(x, keras.layers.TextVectorization))
    assert tuple(vectorizer.get_vocabulary(include_special_tokens=False)) == GIVEN_WORDS


def test_every_host_reports_its_records(with_empty_host: list[Host]) -> None:
    told = [host.data_report() for host in with_empty_host]
    assert [report["records_per_rank"] for report in told] == [[16, 17], [0, 0]]
    assert [report["steps"] for report in told] == [5, 5]


def test_the_log_holds_nothing_but_what_is_useful(with_empty_host: list[Host]) -> None:
    chief, other = (host.log.splitlines() for host in with_empty_host)
    assert len(chief) == 3
    assert chief[0].startswith("algo-1: host 1 of 2, ranks 0..1 of 4 on processors, chief at 127.")
    assert chief[1].startswith("host 0 takes 5 steps per epoch, the ranks take")
    assert chief[2].startswith("epoch=1; train_loss=")
    assert len(other) == 1


def test_both_forms_of_the_model_take_texts(with_empty_host: list[Host]) -> None:
    folder = with_empty_host[0].base_dir / "model"
    texts = tf.constant([record["text"] for record in VALIDATION_RECORDS])
    served = tf.saved_model.load(folder / "1").signatures["serving_default"](texts)
    (probabilities,) = served.values()
    loaded = keras.saving.load_model(folder / "model.keras")(texts)
    assert np.allclose(probabilities.numpy(), loaded.numpy(), atol=1e-12)
    assert 0 < probabilities.numpy().min() < probabilities.numpy().max() < 1


def test_evaluation_counts_what_the_model_predicts(with_empty_host: list[Host]) -> None:
    base_dir = with_empty_host[0].base_dir
    confusion = count_predictions(base_dir / "model", base_dir / "input" / "data" / "validation")
    model = keras.saving.load_model(base_dir / "model" / "model.keras")
    texts = tf.constant([record["text"] for record in VALIDATION_RECORDS])
    predicted = (model(texts).numpy() > 0.5).tolist()
    pairs = Counter(
        (record["label"], said) for record, said in zip(VALIDATION_RECORDS, predicted, strict=True)
    )
    assert confusion == Confusion(
        true_negatives=pairs[0, False],
        false_positives=pairs[0, True],
        false_negatives=pairs[1, False],
        true_positives=pairs[1, True],
    )
    printed = re.findall(r"validation_accuracy=([0-9.]+)", with_empty_host[0].log)
    assert printed == [f"{confusion.accuracy:.5f}"]
