"""Which host gets which objects of a sharded input.

SageMaker promises "approximately 1/n of the number of S3 objects" and documents no order, so the
rule is an option here: nothing trained may depend on it. Source: docs/facts.md 1.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evenshard.errors import UsageError
from training.shards.assignment import round_robin, shuffled

ROUND_ROBIN: Final = "round-robin"
RANDOM: Final = "random"

_Assign = Callable[[Sequence[str], Sequence[str]], Mapping[str, list[str]]]


@dataclass(frozen=True, slots=True)
class Assignment:
    """A rule with a name that reproduces it."""

    label: str
    """What --assignment takes: `round-robin` or `random:SEED`."""
    assign: _Assign
    """Keys, hosts -> the keys of each host."""


def parse_assignment(text: str) -> Assignment:
    """Read --assignment.

    Raises:
        UsageError: it is neither round-robin nor random[:SEED].
    """
    rule, colon, seed_text = text.partition(":")
    if rule == ROUND_ROBIN and not colon:
        return Assignment(ROUND_ROBIN, round_robin)
    if rule == RANDOM and (not colon or seed_text.isdecimal()):
        seed = int(seed_text) if colon else secrets.randbelow(1_000_000)
        return Assignment(f"{RANDOM}:{seed}", lambda keys, hosts: shuffled(keys, hosts, seed))
    raise UsageError(
        f"--assignment {text} is unknown. Choose {ROUND_ROBIN} (observed on SageMaker, promised "
        f"nowhere), {RANDOM} or {RANDOM}:SEED with a whole number, for example {RANDOM}:7."
    )
