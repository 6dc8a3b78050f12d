"""Packed texts as TensorFlow takes them."""

from itertools import pairwise

from training.records.packed import Packed


def cut(texts: Packed) -> list[bytes]:
    """Cut packed texts into one object each.

    For a tensor of strings that is the fastest way: 0.8 us per text, of which its vectorization
    takes 50. Cutting one string in a graph (tf.strings.substr) takes ten times as long, for the
    operation copies the whole for every part.
    """
    content, ends = texts.content.tobytes(), texts.offsets.tolist()
    return [content[first:last] for first, last in pairwise(ends)]
