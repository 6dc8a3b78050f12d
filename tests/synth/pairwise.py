"""Few combinations in which every two values of two factors meet."""

import itertools
from collections.abc import Mapping, Sequence


def pairwise(factors: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Choose combinations greedily: each next one has the most pairs that have not met yet.

    Args:
        factors: name -> values.

    Returns:
        Combinations, factor -> value; the same for equal factors.
    """
    everything = [
        dict(zip(factors, values, strict=True)) for values in itertools.product(*factors.values())
    ]
    left = {pair for combination in everything for pair in _pairs(combination)}
    chosen: list[dict[str, str]] = []
    while left:
        best = max(everything, key=lambda one: len(left & _pairs(one)))
        chosen.append(best)
        left -= _pairs(best)
    return chosen


def _pairs(combination: Mapping[str, str]) -> set[tuple[tuple[str, str], tuple[str, str]]]:
    return set(itertools.combinations(combination.items(), 2))
