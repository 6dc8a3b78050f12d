"""Packed records straight to what models take, without a Python object per record."""

from training.records.encoding.ahead import EncodedBatch, encode_ahead
from training.records.encoding.examples import Examples, example_output, read_examples
from training.records.encoding.fields import read_fields
from training.records.encoding.ngrams import NgramEncoder, Ragged
from training.records.encoding.words import Words, hash_words

__all__ = [
    "EncodedBatch",
    "Examples",
    "NgramEncoder",
    "Ragged",
    "Words",
    "encode_ahead",
    "example_output",
    "hash_words",
    "read_examples",
    "read_fields",
]
