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
CONTIGUOUS: Final = "contiguous"
SINGLE_HOST: Final = "single-host"
RANDOM: Final = "random"

_Assign = Callable[[Sequence[str], Sequence[str], int], Mapping[str, list[str]]]


@dataclass(frozen=True, slots=True)
class Assignment:
    """A rule with a name that reproduces it."""

    label: str
    """What --assignment takes: `round-robin` or `random:SEED`, for example."""
    assign: _Assign
    """Keys, hosts, how often the job was interrupted -> the keys of each host.

    Nothing says that a spot job finds its objects on the same hosts again: a random rule draws
    anew each time.
    """


def parse_assignment(text: str) -> Assignment:
    """Read --assignment.

    Raises:
        UsageError: it is none of the rules.
    """
    rule, colon, seed_text = text.partition(":")
    if text in _FIXED_RULES:
        rule_of_two = _FIXED_RULES[text]
        return Assignment(text, lambda keys, hosts, _restarts: rule_of_two(keys, hosts))
    if rule == RANDOM and (not colon or seed_text.isdecimal()):
        seed = int(seed_text) if colon else secrets.randbelow(1_000_000)
        return Assignment(
            f"{RANDOM}:{seed}",
            lambda keys, hosts, restarts: shuffled(keys, hosts, seed + restarts),
        )
    raise UsageError(
        f"--assignment {text} is unknown. Choose {ROUND_ROBIN} (observed on SageMaker, promised "
        f"nowhere), {CONTIGUOUS}, {SINGLE_HOST}, {RANDOM} or {RANDOM}:SEED with a whole number, "
        f"for example {RANDOM}:7."
    )


def _contiguous(keys: Sequence[str], hosts: Sequence[str]) -> dict[str, list[str]]:
    """The sorted keys cut into as many stretches as there are hosts, equal up to one key."""
    ordered = sorted(keys)
    cuts = [len(ordered) * number // len(hosts) for number in range(len(hosts) + 1)]
    stretches = zip(hosts, cuts, cuts[1:], strict=False)
    return {host: ordered[first:last] for host, first, last in stretches}


def _single_host(keys: Sequence[str], hosts: Sequence[str]) -> dict[str, list[str]]:
    """Everything on the last host, which is not the chief: as uneven as it gets."""
    return {host: sorted(keys) if host == hosts[-1] else [] for host in hosts}


_FIXED_RULES: Final[Mapping[str, Callable[..., Mapping[str, list[str]]]]] = {
    ROUND_ROBIN: round_robin,
    CONTIGUOUS: _contiguous,
    SINGLE_HOST: _single_host,
}
