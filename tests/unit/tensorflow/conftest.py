"""Keras is left as it was."""

from collections.abc import Iterator

import keras
import pytest


@pytest.fixture(autouse=True)
def floats() -> Iterator[None]:
    """A task sets Keras' type of numbers for its process."""
    before = keras.config.floatx()
    yield
    keras.config.set_floatx(before)
