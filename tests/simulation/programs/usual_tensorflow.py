"""What is usually told about TensorFlow, each point tried on one of two workers (TF_CONFIG).

Prints what came of it as JSON.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import keras
import tensorflow as tf

WORKERS = 2
CHANNEL = Path(os.environ["SM_CHANNEL_TRAIN"])
# First of all: collectives can only be set up before anything else was computed.
STRATEGY = tf.distribute.MultiWorkerMirroredStrategy()


def failure(attempt: Callable[[], object]) -> str:
    """The type and text of what an attempt raises; nothing if it works."""
    try:
        attempt()
    except Exception as error:  # noqa: BLE001 - whatever it is, the test says what it must be
        return f"{type(error).__name__}: {error}"
    return ""


def lines() -> tf.data.Dataset:
    return tf.data.TextLineDataset([str(file) for file in sorted(CHANNEL.iterdir())])


def classifier(*layers: keras.Layer) -> keras.Sequential:
    last = keras.layers.Dense(1, activation="sigmoid")
    model = keras.Sequential([*layers, keras.layers.Dense(8, activation="relu"), last])
    model.compile(optimizer="adam", loss="binary_crossentropy")
    return model


def embedding_classifier() -> keras.Sequential:
    return classifier(
        keras.layers.TextVectorization(max_tokens=50),
        keras.layers.Embedding(50, 4),
        keras.layers.GlobalAveragePooling1D(),
    )


def fit_as_written() -> None:
    classifier(keras.layers.TextVectorization(max_tokens=50)).fit(lines().batch(4), verbose=0)


def fit_without_labels() -> None:
    embedding_classifier().fit(lines().batch(4), verbose=0)


def fit_without_adapting() -> None:
    labelled = lines().map(lambda line: (line, tf.strings.regex_full_match(line, "a.*")))
    embedding_classifier().fit(labelled.batch(4), verbose=0)


def ids_after_adapting_alone() -> list[int]:
    """Each host's own vocabulary: the ids of three words."""
    layer = keras.layers.TextVectorization(max_tokens=50)
    layer.adapt(lines())
    return [int(layer(word)[0]) for word in ("apple", "both", "zebra")]


def train_without_strategy() -> dict[str, Any]:
    """Fit one weight to the length of the host's lines, `Strategy` nowhere in sight."""
    lengths = lines().map(lambda line: (tf.ones(1), tf.strings.length(line)))
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    model.fit(lengths.batch(4), epochs=3, verbose=0)
    (weight, _) = model.get_weights()
    return {"records": sum(1 for _ in lines()), "weight": float(weight[0, 0])}


def read_distributed(policy: tf.data.experimental.AutoShardPolicy) -> list[str]:
    """What this worker gets of its own files; a global batch of 4 is 2 for each worker."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    dataset = lines().batch(2 * WORKERS).with_options(options)
    batches = STRATEGY.experimental_distribute_dataset(dataset)
    return [
        line.decode()
        for batch in batches
        for part in STRATEGY.experimental_local_results(batch)
        for line in part.numpy()
    ]


def fit_on_workers() -> None:
    """Numbers only, so that nothing else can be the reason."""
    with STRATEGY.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
    model.fit(tf.ones((8, 3)), tf.ones((8, 1)), batch_size=4, verbose=0)


def fit_on_workers_when_built() -> None:
    """The same beyond the reduction that fails first, which a model that is built needs not."""
    with mock.patch.object(keras.Sequential, "_maybe_symbolic_build"):
        fit_on_workers()


Policy = tf.data.experimental.AutoShardPolicy
report = {
    "as_written": failure(fit_as_written),
    "without_labels": failure(fit_without_labels),
    "without_adapting": failure(fit_without_adapting),
    "ids": ids_after_adapting_alone(),
    "without_strategy": train_without_strategy(),
    "sharded_again": read_distributed(Policy.AUTO),
    "not_sharded_again": read_distributed(Policy.OFF),
    "fit": failure(fit_on_workers),
    "fit_when_built": failure(fit_on_workers_when_built),
}
print(json.dumps(report))
