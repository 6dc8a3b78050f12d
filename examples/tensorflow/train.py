"""A Keras text classifier with TextVectorization, sharded among hosts.

It is the example that is passed around for ShardedByS3Key, written so that it works: the same
layers, on JSON Lines of `{"text": ..., "label": 0 or 1}`. A comment that starts with "Usual:"
stands where that example goes wrong and says what comes of it; each of these is shown by a test of
its own in tests/simulation/test_usual_advice_tensorflow.py.

Run by the launcher, one worker process per device of each host, with the hyperparameter

    program=examples/tensorflow/train.py
"""

import argparse
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.records import LoaderSettings, RecordLoader, Step, find_shards, steps_of_epoch

WORDS = 1000
"""Of the vocabulary."""
LONGEST_WORD = 128
"""Bytes. Keras makes room for the longest one in every row of its vocabulary."""
WORDS_OF_A_WORKER = 100_000
"""Distinct words that a worker tells the others of, its most frequent ones."""


class Workers:
    """All workers of the job, and how they tell each other numbers."""

    def __init__(self) -> None:
        """Meet the other workers, before anything else is computed. TF_CONFIG names them."""
        # Usual: "no tf.distribute is needed". Without a strategy each host trains a model of its
        # own on its own part of the data.
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy()

        def gather(mine: tf.Tensor) -> tf.Tensor:
            # Without identity() the collective is not found among the replica's operations.
            context = tf.distribute.get_replica_context()
            return context.all_gather(tf.identity(mine), axis=0)

        self._gather = tf.function(
            lambda mine: self.strategy.run(gather, args=(mine,)), reduce_retracing=True
        )

    def join(self, mine: tf.Tensor) -> Any:  # noqa: ANN401 - keras and tensorflow are not annotated
        """Put the tensors of all workers one behind the other; their shapes begin as they like."""
        return self.strategy.experimental_local_results(self._gather(mine))[0].numpy()

    def gather(self, numbers: Sequence[int]) -> list[list[int]]:
        """Give integers, as many on each worker, and get those of every worker."""
        gathered: list[list[int]] = self.join(tf.constant([list(numbers)], tf.int64)).tolist()
        return gathered


def main() -> None:
    """Train, and leave the model with worker 0."""
    options = read_options()
    workers = Workers()
    rank = int(os.environ["RANK"])
    host_rank = json.loads(os.environ["SM_HOSTS"]).index(os.environ["SM_CURRENT_HOST"])

    # Usual: TextLineDataset over glob("*.txt"). It misses nested files and, under a strategy,
    # auto-shard deals this host's files out to the workers of all hosts, so that most are never
    # read: a tf.data pipeline of your own needs AutoShardPolicy.OFF. Here the workers of this host
    # split its records, whatever its files.
    loader = RecordLoader(
        find_shards(Path(os.environ["SM_CHANNEL_TRAIN"])),
        settings=LoaderSettings(batch_size=options.batch_size, seed=options.seed, output="records"),
        part=int(os.environ["LOCAL_RANK"]),
        parts=int(os.environ["LOCAL_WORLD_SIZE"]),
    )

    # Usual: a vectorizer that was never adapted; it has no table. Adapted on each host, it would
    # number the words differently on each.
    # Usual: Dense on sequences of any length, which cannot be built. Here it is a row per text,
    # with a 1 for each word that occurs.
    vectorizer = keras.layers.TextVectorization(
        standardize="lower", output_mode="multi_hot", vocabulary=shared_vocabulary(loader, workers)
    )
    with workers.strategy.scope():
        model = build_model(vectorizer.vocabulary_size(), options.seed)
        optimizer = keras.optimizers.Adam(options.learning_rate)
        optimizer.build(model.trainable_variables)
    take_step = make_step(workers, model, optimizer)

    for epoch in range(options.epochs):
        # Usual: model.fit. It fails under this strategy; did it not, unequal shards would mean
        # unequal steps, and hosts that wait for each other in vain. Here all take as many.
        steps = steps_of_epoch(loader, epoch=epoch, host_rank=host_rank, all_gather=workers.gather)
        sums = np.zeros(2)  # losses, records
        for step in steps:
            inputs = make_inputs(step, vectorizer, options.batch_size)
            sums += float(take_step(*inputs)), len(step.batch) if step.batch is not None else 0
        report_epoch(workers, rank, epoch, sums)

    print(f"rank {rank}: weights {fingerprint(model)}", flush=True)
    # Usual: nothing is saved. If every host saved under one name, SageMaker would merge their
    # folders and keep either file.
    if rank == 0:
        save(vectorizer, model, Path(os.environ["SM_MODEL_DIR"]) / "model.keras")
    # A worker that leaves takes the others with it: wait until the model is written.
    workers.gather([rank])


def report_epoch(workers: Workers, rank: int, epoch: int, sums: NDArray[np.float64]) -> None:
    """Say how an epoch went, given this worker's sum of losses and its records, shape (2,)."""
    print(f"rank {rank}, epoch {epoch + 1}: {int(sums[1])} records", flush=True)
    loss, records = workers.join(tf.constant(sums[None])).sum(axis=0)
    if rank == 0:
        # In the form that the pipeline's metrics are read from; of one worker only.
        print(f"epoch={epoch + 1}; train_loss={loss / records:.5f}", flush=True)


def read_options() -> argparse.Namespace:
    """Read the hyperparameters, which the launcher passes as arguments."""
    parser = argparse.ArgumentParser(description="classify texts")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32, help="records per rank and step")
    parser.add_argument("--learning_rate", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def shared_vocabulary(loader: RecordLoader, workers: Workers) -> list[str]:
    """Choose the most frequent words of all hosts' records: the same on every worker.

    Split as the vectorizer does it: at white space, ASCII letters in lower case.
    """
    texts = (record["text"] for batch in loader.epoch(0) for record in batch.data)
    counts = Counter(chain.from_iterable(text.encode().lower().split() for text in texts))
    # Keras drops the NULs at a word's end, and would take it for another word.
    fit = Counter({word: n for word, n in counts.items() if len(word) <= LONGEST_WORD and word[-1]})
    mine = [(word.decode(), count) for word, count in fit.most_common(WORDS_OF_A_WORKER)]
    message = np.frombuffer(json.dumps(mine).encode() + b"\n", np.uint8)
    total: Counter[str] = Counter()
    for line in (
        workers.join(tf.constant(message, tf.int32)).astype(np.uint8).tobytes().splitlines()
    ):
        total.update(dict(json.loads(line)))
    return sorted(total, key=lambda word: (-total[word], word))[:WORDS]


def build_model(vocabulary_size: int, seed: int) -> keras.Model:
    """Make the usual example's layers, with weights that follow from the seed."""
    keras.utils.set_random_seed(seed)
    return keras.Sequential(
        [
            keras.Input((vocabulary_size,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )


def make_step(
    workers: Workers,
    model: keras.Model,
    optimizer: keras.Optimizer,
) -> Callable[..., Any]:
    """Make the function that takes a step of all workers and returns this one's sum of losses."""

    def on_replica(
        features: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor, records_of_all: tf.Tensor
    ) -> tf.Tensor:
        with tf.GradientTape() as tape:
            logits = tf.squeeze(model(features, training=True), 1)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
            total = tf.reduce_sum(losses * weights)
            # Usual: each worker's mean, so that a record weighs more on a worker with fewer. Keras'
            # optimizer adds the gradients of all workers up.
            loss = total / records_of_all
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return total

    take_step: Callable[..., Any] = tf.function(
        lambda *inputs: workers.strategy.run(on_replica, args=inputs)
    )
    return take_step


def make_inputs(
    step: Step, vectorizer: keras.layers.TextVectorization, batch_size: int
) -> Iterable[tf.Tensor]:
    """Turn a step into features, labels and weights of `batch_size` rows, and its records.

    Where there are not as many records, rows of weight 0 stand for them; maybe all of them.
    """
    records = [] if step.batch is None else step.batch.data
    missing = batch_size - len(records)
    # Usual: no labels at all; there is nothing to learn from then.
    texts = [record["text"] for record in records] + [""] * missing
    labels = [record["label"] for record in records] + [0] * missing
    weights = [1] * len(records) + [0] * missing
    numbers = (tf.constant(row, tf.float32) for row in (labels, weights, step.records))
    return vectorizer(tf.constant(texts)), *numbers


def save(vectorizer: keras.layers.TextVectorization, model: keras.Model, path: Path) -> None:
    """Write a model that takes texts and gives the probability of label 1."""
    text = keras.Input((), dtype="string")
    probability = keras.layers.Activation("sigmoid")(model(vectorizer(text)))
    keras.Model(text, probability).save(path)


def fingerprint(model: keras.Model) -> str:
    """Digest all weights: equal ones give equal text."""
    digest = hashlib.sha256()
    for weights in model.get_weights():
        digest.update(weights.tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
