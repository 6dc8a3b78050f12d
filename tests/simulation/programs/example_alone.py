"""The TensorFlow example's training in one process: all workers' records of a step at once.

Reads the steps that the workers wrote down (STEPS: JSON, for each step the records of all) and
the model that they left (MODEL), and prints as JSON how far that is from what it trains itself.
"""

import json
import os
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from examples.tensorflow.train import build_model

SEED = 0


def train(steps: list[list[dict[str, Any]]], vectorizer: keras.layers.Layer) -> keras.Model:
    model = build_model(vectorizer.vocabulary_size(), SEED)
    optimizer = keras.optimizers.Adam(float(os.environ["LEARNING_RATE"]))
    for records in steps:
        features = vectorizer(tf.constant([record["text"] for record in records]))
        labels = tf.constant([[record["label"]] for record in records], tf.float32)
        with tf.GradientTape() as tape:
            loss = keras.losses.BinaryCrossentropy(from_logits=True)(labels, model(features))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return model


saved = keras.models.load_model(os.environ["MODEL"])
[of_words] = [layer for layer in saved.layers if hasattr(layer, "get_vocabulary")]
alone = train(json.loads(Path(os.environ["STEPS"]).read_text(encoding="utf-8")), of_words)
untrained = build_model(of_words.vocabulary_size(), SEED)
trained = saved.get_weights()
report = {
    "vocabulary": of_words.get_vocabulary(include_special_tokens=False),
    "probabilities": saved(tf.constant([["cash prize"], ["lunch meeting"]]))[:, 0].numpy().tolist(),
    "difference": max(
        float(np.abs(a - b).max()) for a, b in zip(trained, alone.get_weights(), strict=True)
    ),
    "moved": max(
        float(np.abs(a - b).max()) for a, b in zip(trained, untrained.get_weights(), strict=True)
    ),
}
print(json.dumps(report))
